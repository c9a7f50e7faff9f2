// Before the first paint: the theme that was chosen here, if any. Else the system's.
(() => {
  const NAME = "tempo9-theme";
  const choices = ["system", "light", "dark"];
  const read = () => {
    try {
      const chosen = localStorage.getItem(NAME);
      return choices.includes(chosen) ? chosen : "system";
    } catch {
      return "system";  // storage is switched off
    }
  };
  let theme = read();
  const show = (button) => {
    document.documentElement.dataset.theme = theme;
    if (button) button.textContent = `Theme: ${theme}`;
  };
  show(null);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    show(button);
    button.addEventListener("click", () => {
      theme = choices[(choices.indexOf(theme) + 1) % choices.length];
      try {
        localStorage.setItem(NAME, theme);
      } catch {
        // It holds for this page, then.
      }
      show(button);
    });
  });
})();
