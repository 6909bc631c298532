/** Longest time for one request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 5000;
/** Longest time for all requests of one read: there are up to three. */
export const READ_LIMIT_MS = 20_000;

export interface SecretRead {
  /** Longest time for the read, in milliseconds. */
  readonly limitMs?: number | undefined;
  /** The label of a version, such as `AWSPENDING`; without it, the current version. */
  readonly version?: string | undefined;
}

/**
 * Reads the text of a secret in Secrets Manager.
 * @throws SecretError that names the secret when it cannot be read within the limit, or has no text
 */
export async function readSecretText(
  arn: string,
  { limitMs = READ_LIMIT_MS, version }: SecretRead = {},
): Promise<string> {
  // A lazy import, so that processes without a secret do not load the client.
  const { GetSecretValueCommand, SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager');
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 2000, requestTimeout: REQUEST_TIMEOUT_MS, throwOnRequestTimeout: true },
  });
  const command = new GetSecretValueCommand({ SecretId: arn, VersionStage: version });
  const answer = await client
    .send(command, { abortSignal: AbortSignal.timeout(limitMs) })
    .catch((cause: Error) => {
      const why = `cannot be read (${cause.name}: ${cause.message}): check that it exists and that this role may read it`;
      throw new SecretError(arn, why, { cause });
    })
    .finally(() => client.destroy());
  return answer.SecretString ?? '';
}

/** A secret is unreadable or incomplete. No message contains its value. */
export class SecretError extends Error {
  override readonly name = 'SecretError';

  constructor(arn: string, what: string, options?: ErrorOptions) {
    super(`secret ${arn}: ${what}`, options);
  }
}
