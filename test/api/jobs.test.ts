import { describe, expect, it } from 'vitest';
import { compactJson } from '../support/json-text.ts';
import { openApi } from './world.ts';

const { ask, pool, woken } = await openApi();

const post = (body: unknown, headers?: Record<string, string>) =>
  ask('/jobs', { method: 'POST', body, ...(headers && { headers }) });
const send = (text: string | Uint8Array) => ask('/jobs', { method: 'POST', text });
const mailWith = (field: string) => `{"job_type":"mail","payload":{"to":"a",${field}}}`;
const count = async () => (await pool.query('select count(*)::int as n from millrace.jobs')).rows[0].n as number;

describe('POST /jobs', () => {
  it('inserts a job, returns its location and wakes the dispatcher', async () => {
    const before = woken.length;

    const { status, headers, body } = await post({ job_type: 'mail', payload: { to: 'ada' }, priority: 2 });

    expect({ status, location: headers.get('location') }).toEqual({ status: 201, location: `/jobs/${body.id}` });
    expect(body).toMatchObject({ job_type: 'mail', status: 'pending', priority: 2, attempts: 0, deduplicated: false });
    expect(body.id).toMatch(/^\d+$/);
    expect(woken.length).toBe(before + 1);
  });

  it('accepts every option', async () => {
    const wanted = { routing_key: 'fast', max_attempts: 3, unique_key: 'all', group_key: 'g', delay: '1h' };

    const { body } = await post({ job_type: 'any', ...wanted });

    const { delay: _delay, ...kept } = wanted;
    expect(body).toMatchObject(kept);
    expect(Date.parse(body.run_at) - Date.parse(body.created_at)).toBe(3_600_000);
  });

  it('answers 200 and the unfinished job that has the unique_key', async () => {
    const first = await post({ job_type: 'any', unique_key: 'once' });
    const second = await post({ job_type: 'any', unique_key: 'once' });

    expect(second.status).toBe(200);
    expect(second.body).toMatchObject({ id: first.body.id, deduplicated: true });
  });

  it('answers 404 for a job type without a handler, and lists the deployed handlers', async () => {
    const { status, body } = await post({ job_type: 'male' });

    expect(status).toBe(404);
    expect(body).toMatchObject({ type: '/problems/unknown-job-type', detail: expect.stringContaining('any.fast') });
  });

  it('answers 404 with the routing key when only keyed handlers have the job type', async () => {
    const { status, body } = await post({ job_type: 'keyed' });

    expect(status).toBe(404);
    expect(body.detail).toContain('; did you mean routing_key strict?');
  });

  it.each(['any.fast', 'keyed.strict', 'other.key'])('refuses the job type %s with its routing key', async (name) => {
    const { status, body } = await post({ job_type: name });

    const [jobType, key] = name.split('.');
    expect(status).toBe(422);
    expect(body.detail).toContain(`did you mean job_type ${jobType} and routing_key ${key}?`);
  });

  it.each([
    ['a payload that violates the schema of the handler', { job_type: 'mail', payload: { to: 1 } }, '/payload/to'],
    ['no job type', { payload: {} }, '/job_type'],
    ['an unknown member', { job_type: 'any', colour: 'red' }, '/colour'],
    ['a priority beyond 9', { job_type: 'any', priority: 10 }, '/priority'],
    ['run_at and delay', { job_type: 'any', run_at: '2027-01-01T00:00:00Z', delay: 5 }, '/delay'],
    ['a run_at that is not a time', { job_type: 'any', run_at: 'tomorrow' }, '/run_at'],
    ['the year 0000', { job_type: 'any', run_at: '0000-01-01T00:00:00Z' }, '/run_at'],
    ['a delay beyond a hundred years', { job_type: 'any', delay: '40000d' }, '/delay'],
    ['an empty unique_key', { job_type: 'any', unique_key: '' }, '/unique_key'],
    ['PAY-01: a NUL in the payload', { job_type: 'any', payload: { note: 'ab\0cd' } }, '/payload/note'],
    ['PAY-01: a NUL in a unique_key', { job_type: 'any', unique_key: 'a\0' }, '/unique_key'],
  ])('answers 422 and a pointer for %s', async (_name, body, pointer) => {
    const before = await count();

    const reply = await post(body);

    expect(reply.status).toBe(422);
    expect(reply.headers.get('content-type')).toBe('application/problem+json');
    expect(reply.body.errors).toEqual([{ in: 'body', pointer, detail: expect.any(String) }]);
    expect(await count()).toBe(before);
  });

  it.each([
    ['PAY-01: half a surrogate pair', '{"job_type":"any","payload":{"note":"x\\ud83d"}}', 422, '/payload/note'],
    ['PAY-04: a number beyond the range of JavaScript', '{"job_type":"any","payload":{"e":1e400}}', 422, '/payload/e'],
    ['PAY-04: an integer that would be rounded', mailWith('"n":9007199254740993'), 422, '/payload/n'],
    ['PAY-04: such an integer further down', mailWith('"a/b":[{"n":9007199254740993}]'), 422, '/payload/a~1b/0/n'],
    ['a duplicate key', '{"job_type":"any","payload":{"a":[{"b":1,"c":{},"b":2}]}}', 422, '/payload/a/0/b'],
    ['deep nesting', `{"job_type":"any","payload":${'['.repeat(5000)}${']'.repeat(5000)}}`, 422, ''],
    ['a body of two megabytes', `{"job_type":"any","payload":"${'x'.repeat(2_100_000)}"}`, 413],
    ['malformed JSON', '{"job_type":', 400],
    ['a body that is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400],
    ['an empty body', '', 400],
    ['a list', '[]', 422, ''],
    ['null', 'null', 422, ''],
  ])('answers 4xx for %s', async (_name, text, status, pointer?: string) => {
    const reply = await send(text);

    expect(reply.status).toBe(status);
    expect(reply.body.detail).toEqual(expect.any(String));
    if (pointer !== undefined) expect(reply.body.errors[0].pointer).toBe(pointer);
  });

  it.each([
    ['a list', '[]', 'body: Invalid input'],
    ['deep nesting', `${'['.repeat(5000)}${']'.repeat(5000)}`, 'body: is nested more than 503 deep'],
    ['a part', '{"job_type":1}', 'body /job_type: '],
  ])('names the place of the fault before a colon: %s', async (_name, text, beginning) => {
    const { body } = await send(text);

    expect(body.detail.slice(0, beginning.length)).toBe(beginning);
  });

  it('answers 415 for a body that is not declared as JSON', async () => {
    const { status } = await ask('/jobs', {
      method: 'POST',
      text: 'job_type=any',
      headers: { 'content-type': 'text/plain' },
    });

    expect(status).toBe(415);
  });

  it('PAY-01, PAY-04: keeps every digit and character of the payload', async () => {
    const payload = '{"p":1.10,"e":1E2,"d":0.30000000000000004,"n":9007199254740992.0,"s":"ok 😀","\\u0061":"\\u00e9"}';

    const { body } = await send(`{"job_type":"any","payload":${payload}}`);

    const { rows } = await pool.query('select payload::text as text from millrace.jobs where id = $1', [body.id]);
    const detail = await ask(`/admin/jobs/${body.id}`);
    expect(rows[0].text).toContain('"p": 1.10');
    expect(rows[0].text).toContain('9007199254740992.0');
    expect(rows[0].text).toContain('0.30000000000000004');
    expect(rows[0].text).toContain('ok 😀');
    expect(detail.text).toContain(`"payload":${compactJson(rows[0].text)}`);
  });
});

describe('GET /jobs/:id', () => {
  it('shows a producer the job without its payload', async () => {
    const { body: made } = await post({ job_type: 'any', payload: { secret: 1 } });

    const { status, body } = await ask(`/jobs/${made.id}`, { scopes: ['jobs:enqueue'] });

    expect(status).toBe(200);
    expect(body).toMatchObject({ id: made.id, status: 'pending', payload_restricted: true });
    expect(body).not.toHaveProperty('payload');
    expect(body).not.toHaveProperty('attempt_history');
  });

  it('shows a payload that nests too deeply for JavaScript as text', async () => {
    const payload = `${'['.repeat(3_000)}${']'.repeat(3_000)}`;
    const { rows } = await pool.query("insert into millrace.jobs (job_type, payload) values ('any', $1) returning id", [
      payload,
    ]);

    const { status, body } = await ask(`/jobs/${rows[0].id}`);

    expect({ status, payload: body.payload }).toEqual({ status: 200, payload });
  });

  it.each(['9223372036854775807', '4711000'])('answers 404 for the unknown id %s', async (id) => {
    expect((await ask(`/jobs/${id}`)).status).toBe(404);
  });

  it.each(['0', '9223372036854775808', 'x', '1e3', '-1', '%00'])('answers 422 for the invalid id %s', async (id) => {
    expect((await ask(`/jobs/${id}`)).status).toBe(422);
  });
});

describe('POST /jobs/:id/cancel', () => {
  it('cancels a job once and answers 409 when it has finished', async () => {
    const { body: made } = await post({ job_type: 'any' });
    const cancel = () => ask(`/jobs/${made.id}/cancel`, { method: 'POST' });

    const first = await cancel();
    const second = await cancel();

    expect(first).toMatchObject({ status: 200, body: { id: made.id, answer: 'cancelled' } });
    expect(second.status).toBe(409);
  });
});
