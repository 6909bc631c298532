/** The command line, or a file that it names, is at fault. The message is printed without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
