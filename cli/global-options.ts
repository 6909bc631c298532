/** The options of every command. */
export interface GlobalOptions {
  readonly databaseUrl?: string;
  readonly apiUrl?: string;
  readonly json?: boolean;
}
