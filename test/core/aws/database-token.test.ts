import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openDatabaseTokens } from '../../../core/aws/database-token.ts';

const HOST = 'jobs.cluster-abc123.eu-central-1.rds.amazonaws.com';
const LOGIN = { host: HOST, port: 5432, user: 'millrace_functions_iam' };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-03-01T12:00:00Z') });
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY');
  vi.stubEnv('AWS_SESSION_TOKEN', 'a+b/c==');
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

// The expected text is what `@aws-sdk/rds-signer` 3.1175.0 returns for this login, these credentials and this time.
it('a token is the one of the signer of AWS', async () => {
  expect(await openDatabaseTokens(LOGIN)()).toBe(
    `${HOST}:5432/?Action=connect&DBUser=millrace_functions_iam&X-Amz-Algorithm=AWS4-HMAC-SHA256` +
      '&X-Amz-Credential=AKIDEXAMPLE%2F20260301%2Feu-central-1%2Frds-db%2Faws4_request&X-Amz-Date=20260301T120000Z' +
      '&X-Amz-Expires=900&X-Amz-Security-Token=a%2Bb%2Fc%3D%3D' +
      '&X-Amz-Signature=c63c11d8db6a09e00584a124af4f86673729720647d96d40bff560b3cf51ed2d&X-Amz-SignedHeaders=host',
  );
});

it('a token made later is a new one, and connections of the same second share one', async () => {
  const newToken = openDatabaseTokens(LOGIN);

  const [first, second] = [await newToken(), await newToken()];
  vi.setSystemTime(new Date('2026-03-01T12:16:00Z'));
  const later = await newToken();

  expect(second).toBe(first);
  expect(later).toContain('X-Amz-Date=20260301T121600Z');
});
