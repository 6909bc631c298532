/** What every command can be told. */
export interface GlobalOptions {
  readonly databaseUrl?: string;
  readonly apiUrl?: string;
  readonly json?: boolean;
}
