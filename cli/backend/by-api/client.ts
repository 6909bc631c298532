import { setTimeout as wait } from 'node:timers/promises';
import type * as z from 'zod';
import type { UnsignedRequest } from '../../../core/aws/sign-request.ts';
import { choiceSetting, optionalSetting } from '../../../core/config.ts';
import { CommandFailure, EXIT } from '../../command-failure.ts';
import { warn } from '../../screen/terminal.ts';
import type { ApiAddress } from '../../target/api-address.ts';
import { signatureFailure } from '../../target/aws-failure.ts';
import { ApiFailure, answerFailure, connectionFailure, redirectFailure, strangerFailure } from './failure.ts';

/** Longer than the 15 s after which the API itself reports that its database does not respond. */
const LONGEST_SECONDS = 20;
const MOST_TRIES = 4;
const LONGEST_PAUSE_SECONDS = 30;

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Undefined members are omitted; a list is sent as comma-separated text. */
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  /** JSON text. */
  readonly body?: string;
  /** Default 20. */
  readonly seconds?: number;
}

export interface Answered<Document> {
  readonly document: Document;
  /** The text of the response, with every digit. */
  readonly text: string;
}

/** Calls operations of the API and parses the responses with the API's own schemas. */
export interface Client {
  /** @throws ApiFailure for every response but a success. */
  request<Schema extends z.ZodType>(path: string, schema: Schema, asked?: Asked): Promise<Answered<z.output<Schema>>>;
  /** Calls an operation that returns no document. */
  send(path: string, asked: Asked): Promise<void>;
}

export function openClient({ url, label }: ApiAddress): Client {
  const credential = readCredential();
  const answerOf = async (path: string, asked: Asked): Promise<{ text: string; body: unknown }> => {
    for (let tried = 1; ; tried += 1) {
      const { status, headers, text } = await fetchText(`${url}${path}${queryText(asked.query)}`, asked, {
        credential,
        label,
      });
      if (status >= 300 && status < 400) throw redirectFailure(label, headers.get('location'));
      const body = text === '' ? undefined : parse(text);
      if (status === 429 && tried < MOST_TRIES) {
        await pause(headers.get('retry-after'), label);
        continue;
      }
      if (body === undefined && status !== 204) throw strangerFailure(label, status, headers.get('content-type'));
      if (status >= 400) throw answerFailure(label, status, body);
      return { text, body };
    }
  };
  return {
    request: async (path, schema, asked = {}) => {
      const { text, body } = await answerOf(path, asked);
      const { data, error } = schema.safeParse(body);
      if (error !== undefined) throw otherDocument(label, path, error);
      return { document: data as z.output<typeof schema>, text };
    },
    send: async (path, asked) => void (await answerOf(path, asked)),
  };
}

/** Returns the headers with which the caller authenticates the request. */
type Credential = (request: UnsignedRequest) => Promise<Record<string, string>>;

/** Reads the key from the environment and never from a flag, which every process on the machine could read. */
function readCredential(): Credential {
  const key = optionalSetting('MILLRACE_API_KEY');
  if (optionalSetting('MILLRACE_API_SIGN') !== undefined) return readSignature(key);
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new CommandFailure(EXIT.usage, 'MILLRACE_API_KEY: expected printable ASCII characters without spaces');
  }
  return async ({ headers }) => ({ ...headers, ...(key !== undefined && { Authorization: `Bearer ${key}` }) });
}

function readSignature(key: string | undefined): Credential {
  choiceSetting('MILLRACE_API_SIGN', ['aws']);
  if (key !== undefined) {
    throw new CommandFailure(EXIT.usage, 'MILLRACE_API_SIGN and MILLRACE_API_KEY are both set: unset one of them');
  }
  // Loaded here: it imports the AWS SDK.
  const signer = import('../../../core/aws/sign-request.ts').then(({ openSigner }) => openSigner());
  return async (request) => {
    const sign = await signer;
    return sign(request).catch((error: unknown) => {
      throw signatureFailure(error);
    });
  };
}

interface Sender {
  readonly credential: Credential;
  readonly label: string;
}

async function fetchText(url: string, asked: Asked, { credential, label }: Sender) {
  const { method = 'GET', body, seconds = LONGEST_SECONDS } = asked;
  const plain = {
    Accept: 'application/json',
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  const headers = await credential({ method, url, headers: plain, body });
  const signal = AbortSignal.timeout(seconds * 1000);
  try {
    const sent = await fetch(url, { method, headers, body: body ?? null, redirect: 'manual', signal });
    return { status: sent.status, headers: sent.headers, text: await sent.text() };
  } catch (error) {
    throw connectionFailure(label, error, seconds);
  }
}

/** A space is `%20`, because a signature is made of the query in this form. */
function queryText(query: Asked['query'] = {}): string {
  const parts = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return parts.length === 0 ? '' : `?${new URLSearchParams(parts).toString().replaceAll('+', '%20')}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function pause(retryAfter: string | null, label: string): Promise<void> {
  const seconds = Number(retryAfter ?? 1);
  const bounded = seconds >= 0 ? Math.min(seconds, LONGEST_PAUSE_SECONDS) : 1;
  warn(`${label} throttles requests: retrying in ${bounded} s`);
  await wait(bounded * 1000);
}

function otherDocument(label: string, path: string, { issues }: z.ZodError): ApiFailure {
  const [first] = issues;
  const place = [path, ...(first?.path ?? [])].join('/');
  return new ApiFailure(
    EXIT.failed,
    `${label} returned a response that this release does not expect: ${place}: ${first?.message}`,
  );
}
