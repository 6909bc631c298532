import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Connection, Input } from './actions/input.ts';
import { ACTIONS } from './actions/table.ts';
import type { Broker } from './broker/broker.ts';
import { SqsError } from './errors.ts';
import { readForm } from './query/read-form.ts';
import { writeFault, writeResult } from './query/write-xml.ts';

const TARGET_PREFIX = 'AmazonSQS.';
const MAX_BYTES = 16 * 1_048_576;

/** Defines how requests name their action and its input, and how responses are written. */
interface Protocol {
  readonly contentType: string;
  /** Returns the name of the action and its input. */
  read(body: string): { action: string; input: () => Input };
  result(action: string, answer: object, requestId: string): string;
  fault(error: SqsError, requestId: string): string;
}

/** Answers a request in the AWS JSON 1.0 protocol or the older AWS query protocol. */
export async function answerRequest(broker: Broker, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const requestId = randomUUID();
  const protocol = isQuery(request) ? queryProtocol(request) : jsonProtocol(request);
  const write = (status: number, body: string): void => {
    const bytes = Buffer.byteLength(body);
    const headers = { 'content-type': protocol.contentType, 'content-length': bytes, 'x-amzn-requestid': requestId };
    response.writeHead(status, headers).end(body);
  };
  try {
    const { action, input } = protocol.read(await readBody(request));
    const connection = watch(request, response);
    const answer = await run(broker, action, input, connection);
    await broker.journal.committed();
    if (isGone(request, response)) connection.undo?.();
    else write(200, protocol.result(action, answer, requestId));
  } catch (error) {
    const known = error instanceof SqsError ? error : new SqsError('InternalFailure', describe(error));
    if (known !== error) process.stderr.write(`${known.message}\n`);
    if (response.destroyed) return;
    response.setHeader('x-amzn-query-error', `${known.queryCode};${known.senderFault ? 'Sender' : 'Receiver'}`);
    write(known.status, protocol.fault(known, requestId));
  }
}

function run(broker: Broker, name: string, input: () => Input, connection: Connection): object | Promise<object> {
  const action = ACTIONS.get(name);
  if (action === undefined)
    throw new SqsError('InvalidAction', `The action ${name || '(none)'} is not valid for this endpoint.`);
  return action(broker, input(), connection);
}

/** Returns the JSON protocol: the header `X-Amz-Target` names the action, and the body contains its input. */
function jsonProtocol({ headers }: IncomingMessage): Protocol {
  const target = String(headers['x-amz-target'] ?? '');
  return {
    contentType: 'application/x-amz-json-1.0',
    read: (body) => ({
      action: target.startsWith(TARGET_PREFIX) ? target.slice(TARGET_PREFIX.length) : '',
      input: () => parseInput(body),
    }),
    result: (_action, answer) => JSON.stringify(answer),
    fault: ({ type, message }) => JSON.stringify({ __type: type, message }),
  };
}

/** Returns whether a request uses the query protocol: it sends a form, or has parameters in its URL. */
function isQuery({ headers, url = '/' }: IncomingMessage): boolean {
  if (headers['x-amz-target'] !== undefined) return false;
  return /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '') || url.includes('?');
}

/**
 * Returns the query protocol: the parameter `Action` names the action. The path may name the queue instead of
 * `QueueUrl`.
 */
function queryProtocol({ headers, url = '/' }: IncomingMessage): Protocol {
  const [path = '/', ...rest] = url.split('?');
  return {
    contentType: 'text/xml',
    read: (body) => {
      // A page from another site can send a form and parameters, but needs a preflight request to send this header.
      if (!/^AWS/.test(headers.authorization ?? '')) {
        throw new SqsError('MissingAuthenticationToken', 'Request is missing Authentication Token');
      }
      const parameters = new URLSearchParams(rest.join('?'));
      for (const [name, value] of new URLSearchParams(body)) parameters.set(name, value);
      const action = parameters.get('Action') ?? '';
      const queue = path.replace(/\/+$/, '');
      return {
        action,
        input: () => ({ ...(queue === '' ? {} : { QueueUrl: queue }), ...readForm(parameters, action) }),
      };
    },
    result: writeResult,
    fault: writeFault,
  };
}

function parseInput(body: string): Input {
  try {
    const parsed: unknown = JSON.parse(body === '' ? '{}' : body);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Input;
  } catch {
    // Refused below, as is any body that is not an object.
  }
  throw new SqsError('SerializationException', 'The body must be a JSON object.');
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new SqsError('BatchRequestTooLong', `The request is longer than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)).toString();
}

/** Returns true once the client's FIN has been read, which is some turns before the socket is closed here. */
function isGone(request: IncomingMessage, response: ServerResponse): boolean {
  return response.destroyed || request.socket.readableEnded;
}

function watch(request: IncomingMessage, response: ServerResponse): Connection {
  return {
    onGone(leave) {
      if (isGone(request, response)) {
        leave();
        return;
      }
      const { socket } = request;
      socket.once('end', leave);
      response.once('close', () => {
        socket.off('end', leave);
        leave();
      });
    },
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
