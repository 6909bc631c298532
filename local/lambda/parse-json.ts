/** Returns the value of JSON text, or undefined (which is not a JSON value) if the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
