import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Connection, Input } from './actions/input.ts';
import { ACTIONS } from './actions/table.ts';
import type { Broker } from './broker/broker.ts';
import { SqsError } from './errors.ts';

const TARGET_PREFIX = 'AmazonSQS.';
const MOST_BYTES = 16 * 1_048_576;

/** Answers one request of the AWS JSON 1.0 protocol: the action in `X-Amz-Target`, its input as the body. */
export async function answerRequest(broker: Broker, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const body = await readBody(request);
    const connection = watch(request, response);
    const answer = await run(broker, request, body, connection);
    await broker.journal.committed();
    if (isGone(request, response)) connection.undo?.();
    else write(response, 200, answer);
  } catch (error) {
    if (!response.destroyed) writeError(response, error);
  }
}

function run(broker: Broker, request: IncomingMessage, body: string, connection: Connection): object | Promise<object> {
  const target = String(request.headers['x-amz-target'] ?? '');
  const name = target.startsWith(TARGET_PREFIX) ? target.slice(TARGET_PREFIX.length) : '';
  const action = ACTIONS.get(name);
  if (action === undefined)
    throw new SqsError('InvalidAction', `The action ${name || '(none)'} is not valid for this endpoint.`);
  return action(broker, parseInput(body), connection);
}

function parseInput(body: string): Input {
  try {
    const parsed: unknown = JSON.parse(body === '' ? '{}' : body);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Input;
  } catch {
    // Refused below like any other body that is not an object.
  }
  throw new SqsError('SerializationException', 'The body must be a JSON object.');
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES)
      throw new SqsError('BatchRequestTooLong', `The request is longer than ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)).toString();
}

/** True as soon as the client's hang-up has been read, which is some turns before the connection is closed here. */
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

function writeError(response: ServerResponse, error: unknown): void {
  const known = error instanceof SqsError ? error : new SqsError('InternalFailure', describe(error));
  if (known !== error) process.stderr.write(`${known.message}\n`);
  response.setHeader('x-amzn-query-error', `${known.queryCode};${known.senderFault ? 'Sender' : 'Receiver'}`);
  write(response, known.status, { __type: known.type, message: known.message });
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function write(response: ServerResponse, status: number, answer: object): void {
  const body = JSON.stringify(answer);
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.0',
    'content-length': Buffer.byteLength(body),
    'x-amzn-requestid': randomUUID(),
  });
  response.end(body);
}
