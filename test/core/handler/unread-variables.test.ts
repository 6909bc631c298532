import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { READ, unreadVariables } from '../../../core/handler/unread-variables.ts';
import { isVariable } from '../../../core/handler/variables.ts';

const HANDLERS = [
  { jobType: 'make_thumbnail', routingKey: '' },
  { jobType: 'index_record', routingKey: 'vector' },
];

function line(name: string): string | undefined {
  return unreadVariables({ [name]: '1' }, HANDLERS)[0];
}

describe('a variable of another job system', () => {
  it.each([
    ['MAX_RETRY_ATTEMPTS', 'MILLRACE_MAX_ATTEMPTS, which counts the first attempt too'],
    ['MAX_RETRIES', 'MILLRACE_MAX_ATTEMPTS, which counts the first attempt too'],
    ['MAX_ATTEMPTS', 'MILLRACE_MAX_ATTEMPTS'],
    ['RETRY_DELAY_SECONDS', 'MILLRACE_RETRY_DELAY'],
    ['RETRY_DELAY', 'MILLRACE_RETRY_DELAY'],
    ['RETRY_BASE_DELAY', 'MILLRACE_RETRY_BASE_DELAY'],
    ['RETRY_MAX_DELAY', 'MILLRACE_RETRY_MAX_DELAY'],
    ['JOB_TIMEOUT', 'MILLRACE_JOB_TIMEOUT'],
  ])('%s has a line that names %s', (name, ours) => {
    expect(line(name)).toBe(`${name} has no effect: set ${ours}`);
  });
});

describe('a variable with our prefix that nothing reads', () => {
  it.each([
    ['MILLRACE_MAX_ATEMPTS', 'MILLRACE_MAX_ATTEMPTS'],
    ['MILLRACE_MAX_RETRIES', 'MILLRACE_MAX_ATTEMPTS'],
    ['MILLRACE_MAX_RETRY_ATTEMPTS_make_thumbnail', 'MILLRACE_MAX_ATTEMPTS_make_thumbnail'],
    ['MILLRACE_TIMEOUT', 'MILLRACE_JOB_TIMEOUT'],
    ['MILLRACE_RETRY_DELAY_SECONDS_index_record__vector', 'MILLRACE_RETRY_DELAY_index_record__vector'],
    ['MILLRACE_RETRY_DELAY_make_thumbnial', 'MILLRACE_RETRY_DELAY_make_thumbnail'],
    ['MILLRACE_RETRY_DELAY_MAKE_THUMBNAIL', 'MILLRACE_RETRY_DELAY_make_thumbnail'],
    ['MILLRACE_RETRY_DELAY_index_record_vector', 'MILLRACE_RETRY_DELAY_index_record__vector'],
    ['MILLRACE_RETRY_DELAY_index_record.vector', 'MILLRACE_RETRY_DELAY_index_record__vector'],
    ['MILLRACE_JOB_TIMEOUT_MS', 'MILLRACE_JOB_TIMEOUT'],
    ['MILLRACE_RETENTON', 'MILLRACE_RETENTION'],
  ])('%s has a line that suggests %s', (name, ours) => {
    expect(line(name)).toBe(`${name} has no effect; did you mean ${ours}?`);
  });

  it('has a line without a suggestion if no name is similar', () => {
    expect(line('MILLRACE_FOO')).toBe('MILLRACE_FOO has no effect: Millrace reads no such variable');
    expect(line('MILLRACE_JOB_TIMEOUT_old_report_of_the_month')).toBe(
      'MILLRACE_JOB_TIMEOUT_old_report_of_the_month has no effect: no handler has this name',
    );
    expect(line('MILLRACE_JOB_TIMEOUT_x')).toBe('MILLRACE_JOB_TIMEOUT_x has no effect: no handler has this name');
    expect(line('MILLRACE_constructor')).toContain('MILLRACE_constructor has no effect');
  });
});

it('variables that are read, empty, or unrelated have no line', () => {
  const ours = [
    'MILLRACE_MAX_ATTEMPTS',
    'MILLRACE_JOB_TIMEOUT_index_record__vector',
    ...READ,
    'MILLRACE_TEST_POSTGRES',
  ];
  const others = ['PATH', 'SMTP_URL', 'retry_delay', 'toString', 'NOT_MILLRACE_FOO'];
  const set = Object.fromEntries([...ours, ...others].map((name) => [name, '1']));

  expect(unreadVariables({ ...set, MAX_RETRIES: '', MILLRACE_FOO: ' ' }, HANDLERS)).toEqual([]);
});

it('the lines are sorted by the name of the variable', () => {
  const lines = unreadVariables({ RETRY_DELAY: '1', MILLRACE_FOO: '1', MAX_RETRIES: '1' }, HANDLERS);

  expect(lines.map((one) => one.split(' ')[0])).toEqual(['MAX_RETRIES', 'MILLRACE_FOO', 'RETRY_DELAY']);
});

it('the list of names contains exactly the variables that the product reads', () => {
  const ROOT = new URL('../../../', import.meta.url).pathname;
  const folders = ['core', 'api', 'functions', 'infra', 'local', 'cli'];
  const own = ['core/errors.ts', 'core/handler/variables.ts', 'core/handler/unread-variables.ts'];
  const files = folders
    .flatMap((folder) =>
      readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
    )
    .filter((file) => /\.m?[jt]s$/.test(file) && !own.includes(file));
  // Literals of names that are read, or that a deployment sets for its functions.
  const found = files.flatMap((file) =>
    [...readFileSync(ROOT + file, 'utf8').matchAll(/\bMILLRACE_[A-Z_]*[A-Z]\b/g)].map(([name]) => name),
  );
  const services = ['SQS', 'LAMBDA'].flatMap((name) => [`MILLRACE_${name}_ENDPOINT`, `MILLRACE_${name}_ACCESS_KEY_ID`]);
  // Codes of errors, by which the command line recognises them.
  const codes = ['MILLRACE_SETTING', 'MILLRACE_PAYLOAD'];

  expect([...READ].toSorted()).toEqual(
    [...new Set([...found, ...services])].filter((n) => !codes.includes(n) && !isVariable(n)).toSorted(),
  );
});
