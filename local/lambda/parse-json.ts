/** Returns the value of a JSON text, or undefined (which is no JSON value) if the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
