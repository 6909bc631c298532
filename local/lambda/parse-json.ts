/** The value of a JSON text, or undefined (which JSON cannot say) if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
