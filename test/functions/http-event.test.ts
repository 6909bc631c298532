import { expect, it } from 'vitest';
import { type HttpEvent, toRequest, toResult } from '../../functions/http-event.ts';

const event = (changes: Partial<HttpEvent> & { method?: string } = {}): HttpEvent => ({
  rawPath: '/jobs',
  rawQueryString: '',
  headers: { host: 'api.example', 'content-type': 'application/json' },
  isBase64Encoded: false,
  requestContext: { requestId: 'r', domainName: 'api.example', http: { method: changes.method ?? 'GET' } },
  ...changes,
});

it('toRequest reads path, query, headers and body, as text or in base64', async () => {
  const body = '{"note":"ü😀"}';

  const text = toRequest(event({ method: 'POST', rawPath: '/a%20b', rawQueryString: 'x=1&x=2', body }));
  const encoded = toRequest(
    event({ method: 'POST', body: Buffer.from(body).toString('base64'), isBase64Encoded: true }),
  );

  expect(text.url).toBe('https://api.example/a%20b?x=1&x=2');
  expect(text.headers.get('host')).toBe('api.example');
  expect(await text.text()).toBe(body);
  expect(await encoded.text()).toBe(body);
});

it.each(['GET', 'HEAD'])('toRequest omits the body of %s', async (method) => {
  const request = toRequest(event({ method, body: 'x' }));

  expect(await request.text()).toBe('');
});

it.each(['TRACE', 'CONNECT', 'TRACK'])('toRequest turns %s into OPTIONS', (method) => {
  expect(toRequest(event({ method })).method).toBe('OPTIONS');
});

it.each([
  ['a value outside Latin-1', { x: '€' }],
  ['a line break in its value', { x: 'a\r\nb: c' }],
  ['NUL in its value', { x: 'a\0b' }],
  ['a name that is not a token', { 'a b': 'c' }],
  ['an empty name', { '': 'c' }],
  ['a name outside ASCII', { ü: 'c' }],
])('toRequest drops a header with %s, and keeps the others', (_what, odd) => {
  const headers = { authorization: 'Bearer a', ...odd, 'content-type': 'application/json' };

  const request = toRequest(event({ headers }));

  expect(Object.fromEntries(request.headers)).toEqual({
    authorization: 'Bearer a',
    'content-type': 'application/json',
  });
});

it.each(['*', 'http://else.example/'])('toRequest treats the target %s as a path', (rawPath) => {
  expect(new URL(toRequest(event({ rawPath })).url).host).toBe('api.example');
});

it('toResult returns status, headers and body of a response', async () => {
  const result = await toResult(new Response('ü', { status: 201, headers: { location: '/jobs/1' } }));

  expect(result).toMatchObject({
    statusCode: 201,
    body: 'ü',
    isBase64Encoded: false,
    headers: { location: '/jobs/1' },
  });
});
