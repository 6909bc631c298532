import { once } from 'node:events';
import { connect } from 'node:net';

/** A keep-alive connection that sends one request after another, without the cost of an SDK. */
export interface SqsConnection {
  request(action: string, input: object): Promise<unknown>;
  close(): void;
}

const HEAD_END = '\r\n\r\n';

export async function openConnection(port: number): Promise<SqsConnection> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  await once(socket, 'connect');
  let read: Buffer = Buffer.alloc(0);
  let settle: { resolve: (answer: unknown) => void; reject: (error: unknown) => void } | undefined;

  socket.on('data', (chunk: Buffer) => {
    read = read.length === 0 ? chunk : Buffer.concat([read, chunk]);
    const answer = wholeAnswer(read);
    if (answer === undefined) return;
    read = Buffer.alloc(0);
    if (answer.status === 200) settle?.resolve(JSON.parse(answer.body));
    else settle?.reject(new Error(`SQS answered ${answer.status}: ${answer.body}`));
  });
  socket.on('close', () => settle?.reject(new Error('SQS closed the connection')));

  return {
    request: (action, input) => {
      const body = JSON.stringify(input);
      socket.write(
        `POST / HTTP/1.1\r\nhost: sqs\r\nx-amz-target: AmazonSQS.${action}\r\n` +
          `content-type: application/x-amz-json-1.0\r\ncontent-length: ${Buffer.byteLength(body)}${HEAD_END}${body}`,
      );
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
      });
    },
    close: () => {
      settle = undefined;
      socket.destroy();
    },
  };
}

/** Returns the response once it is complete; the server always sends its length. */
function wholeAnswer(read: Buffer): { status: number; body: string } | undefined {
  const headEnd = read.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = read.toString('latin1', 0, headEnd);
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
  const start = headEnd + HEAD_END.length;
  if (read.length < start + length) return undefined;
  return { status: Number(head.slice(9, 12)), body: read.toString('utf8', start, start + length) };
}
