import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openLog } from '../../../core/log.ts';
import type { Declared } from '../../../core/settings/declared.ts';
import { openValues, SECRET_SECONDS } from '../../../core/settings/open-values.ts';
import { openRedactor } from '../../../core/settings/redactor.ts';
import { startSecretsManager } from '../../support/fake-secrets.ts';

const ARN = 'arn:aws:secretsmanager:eu-central-1:000000000000:secret:bank-AbCdEf';
const OTHER = 'arn:aws:secretsmanager:eu-central-1:000000000000:secret:mail-AbCdEf';
const secrets = new Map<string, string>();
const reads = vi.spyOn(secrets, 'get');
let manager: Awaited<ReturnType<typeof startSecretsManager>>;

beforeAll(async () => {
  manager = await startSecretsManager(secrets);
});
afterAll(() => manager.close());
beforeEach(() => {
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', manager.endpoint);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  vi.stubEnv('MILLRACE_SECRETS', `BANK_TOKEN=${ARN},MAIL_TOKEN=${OTHER}`);
  secrets.clear();
  secrets.set(ARN, 'first-value').set(OTHER, 'mail-value');
  reads.mockClear();
});
afterEach(() => vi.unstubAllEnvs());

const BANK: Declared = { secrets: ['BANK_TOKEN'] };

/** Opens values with a time of day that the test sets, in seconds. */
function open(declared: Declared) {
  const clock = { seconds: 1_000_000 };
  const lines: Record<string, unknown>[] = [];
  const log = openLog((line) => lines.push(JSON.parse(line)));
  const redactor = openRedactor();
  const read = openValues(declared, { redactor, log, now: () => clock.seconds * 1000 });
  return { read, clock, lines };
}

describe('a secret', () => {
  it('is read when the first jobs start, once for five minutes, and only if the definition names it', async () => {
    const { read, clock } = open(BANK);
    expect(reads).not.toHaveBeenCalled();

    const first = await read();
    clock.seconds += SECRET_SECONDS - 1;
    const later = await read();

    expect([first.secrets, later.secrets]).toEqual([{ BANK_TOKEN: 'first-value' }, { BANK_TOKEN: 'first-value' }]);
    expect(reads.mock.calls).toEqual([[ARN]]);
    expect(SECRET_SECONDS).toBe(300);
  });

  it('has its rotated value after five minutes, while an attempt that runs keeps the earlier one', async () => {
    const { read, clock } = open(BANK);
    const running = await read();
    secrets.set(ARN, 'second-value');

    clock.seconds += SECRET_SECONDS;
    const next = await read();

    expect(running.secrets).toEqual({ BANK_TOKEN: 'first-value' });
    expect(next.secrets).toEqual({ BANK_TOKEN: 'second-value' });
    expect(next.redact?.('first-value, second-value')).toBe('***, ***');
  });

  it('is read again after the clock was set back', async () => {
    const { read, clock } = open(BANK);
    await read();
    secrets.set(ARN, 'second-value');

    clock.seconds -= 3600;

    expect((await read()).secrets).toEqual({ BANK_TOKEN: 'second-value' });
  });

  it('keeps its earlier value when it cannot be read again, and is tried again after 30 s', async () => {
    const { read, clock, lines } = open(BANK);
    await read();
    secrets.delete(ARN);
    clock.seconds += SECRET_SECONDS;

    const [failed, rested] = [await read(), await read()];
    secrets.set(ARN, 'second-value');
    clock.seconds += 30;
    const again = await read();

    expect([failed, rested, again].map((values) => values.secrets.BANK_TOKEN)).toEqual([
      'first-value',
      'first-value',
      'second-value',
    ]);
    expect(lines).toMatchObject([{ event: 'secret_unreadable', level: 'warn', secret: 'BANK_TOKEN' }]);
    expect(JSON.stringify(lines)).toContain('ResourceNotFoundException');
  });

  it.each([
    ['does not exist', undefined, 'cannot be read (ResourceNotFoundException'],
    ['has no text', '', 'expected text, and it has none'],
  ])('that %s is an error with its ARN, and read again at the next call', async (_what, value, sentence) => {
    if (value === undefined) secrets.delete(ARN);
    else secrets.set(ARN, value);
    const { read } = open(BANK);

    await expect(read()).rejects.toThrow(`secret ${ARN}: ${sentence}`);
    secrets.set(ARN, 'first-value');

    expect((await read()).secrets).toEqual({ BANK_TOKEN: 'first-value' });
  });

  it('without an ARN is a variable of the environment', async () => {
    vi.stubEnv('MILLRACE_SECRETS', '');
    vi.stubEnv('BANK_TOKEN', 'from-the-environment');
    const { read } = open(BANK);

    const { secrets: values, redact } = await read();

    expect(values).toEqual({ BANK_TOKEN: 'from-the-environment' });
    expect(redact?.('with from-the-environment')).toBe('with ***');
    expect(reads).not.toHaveBeenCalled();
  });
});

describe('settings', () => {
  const declared: Declared = {
    settings: { API_URL: 'required', PAGE_SIZE: { default: '50' }, constructor: { default: '' } },
  };

  it('come from the environment, or are the default of the definition', async () => {
    vi.stubEnv('API_URL', ' https://bank.example.com ');
    vi.stubEnv('OTHER', 'x');

    const { settings, secrets: none } = await open(declared).read();

    expect(settings).toEqual({ API_URL: 'https://bank.example.com', PAGE_SIZE: '50', constructor: '' });
    expect(none).toEqual({});
  });

  it('an empty variable counts as missing', async () => {
    vi.stubEnv('API_URL', 'x');
    vi.stubEnv('PAGE_SIZE', '');

    expect((await open(declared).read()).settings.PAGE_SIZE).toBe('50');
  });
});

it('a function does not start without a required setting or a secret, and names each', () => {
  vi.stubEnv('API_URL', '');
  const declared: Declared = { settings: { API_URL: 'required' }, secrets: ['BANK_TOKEN', 'UNKNOWN_TOKEN'] };

  expect(() => open(declared)).toThrow(
    'settings.API_URL: expected API_URL in the environment of the function, got nothing; secrets.UNKNOWN_TOKEN: ' +
      'expected UNKNOWN_TOKEN or its ARN in MILLRACE_SECRETS in the environment of the function, got nothing',
  );
});
