/** Elements that Postgres reads without quotes: ids, numbers and words. */
const PLAIN = /^[\w-]+(?:,[\w-]+)*$/;
const NULL = /null/i;

/**
 * Returns an array parameter as the text that Postgres reads, if its elements need no quotes. The driver quotes each
 * element of an array, which took a tenth of the time of a handler with many small jobs.
 */
export function arrayText(values: readonly (string | number)[]): string | readonly (string | number)[] {
  const text = values.join();
  return PLAIN.test(text) && !NULL.test(text) ? `{${text}}` : values;
}
