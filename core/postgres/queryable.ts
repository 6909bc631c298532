// Public declarations name these types, so this file imports neither the driver nor Node.

/** Runs constant SQL text with `$n` parameters. */
export interface Queryable {
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>;
}

/** A password, or a function that returns the password of each new connection. */
export type Password = string | (() => Promise<string>);

/** The fields of a login. TLS is verified with the certificate authorities and the name of the host. */
export interface Credentials {
  readonly user: string;
  readonly password: Password;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** Certificate authorities in PEM. */
  readonly ca: string;
}

/** A user name and password that the server refused. */
export type Refused = Pick<Credentials, 'user' | 'password'>;

/**
 * Reads the credentials: once, and again when the server refuses them, because the password may have changed. Returns
 * none of the refused ones; undefined if there are no others.
 */
export type Login = (refused: readonly Refused[]) => Promise<Credentials | undefined>;

export type Address = { connectionString: string } | { login: Login };
