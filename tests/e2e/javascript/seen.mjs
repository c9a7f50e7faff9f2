// What a test saw on the wire, written down for the type checker: one [type, value] a line, to the file of the second
// argument. The first argument is the server's URL.
import fs from "node:fs";

export const [url, file] = process.argv.slice(2);

export function saw(type, value) {
  fs.appendFileSync(file, JSON.stringify([type, value]) + "\n");
  return value;
}

// type: a name, or a function of the value.
export async function sawAll(type, stream) {
  const all = [];
  for await (const value of stream) all.push(saw(typeof type === "function" ? type(value) : type, value));
  return all;
}
