// The server's routes, with the key that the user gave to this tab.

const KEY = "tempo9-key";

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// The key lives as long as the tab; with storage switched off, as long as the page.
let held = "";
export const key = {
  get() {
    try {
      return sessionStorage.getItem(KEY) ?? "";
    } catch {
      return held;
    }
  },
  set(value) {
    held = value;
    try {
      sessionStorage.setItem(KEY, value);
    } catch {
      // It is held here.
    }
  },
};

function send(path, options) {
  const headers = {...options.headers};
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  return fetch(path, {...options, headers, cache: "no-store", credentials: "omit", redirect: "error"});
}

// What the server says, whatever the shape of its error.
async function words(response) {
  const text = await response.text();
  try {
    const {error} = JSON.parse(text);
    return error.message ?? error;
  } catch {
    return text || `status ${response.status}`;
  }
}

// Throws ApiError in the server's words. 401 also tells the page, which asks for the key.
export async function ask(path, options = {}) {
  const response = await send(path, options);
  if (response.ok) return response;
  const error = new ApiError(response.status, await words(response));
  if (error.status === 401) document.dispatchEvent(new CustomEvent("keyneeded", {detail: error.message}));
  throw error;
}

export function post(path, body, {signal, headers} = {}) {
  return ask(path, {
    method: "POST",
    headers: {...headers, "Content-Type": "application/json"},
    body: JSON.stringify(body),
    signal,
  });
}

// {status: "ok" | "loading" | "draining" | "gone", model?}: never throws.
export async function health() {
  try {
    return await (await send("/health", {})).json();
  } catch {
    return {status: "gone"};
  }
}

// The payloads of a stream of server-sent events, as they come.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data: ")) yield line.slice(6);
    }
  }
}
