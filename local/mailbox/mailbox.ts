import { once } from 'node:events';
import { mkdir, readdir, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { freePort } from '../processes/ports.ts';
import { storeMail } from './mails.ts';
import { isStopped } from './stopped.ts';

export interface Mailbox {
  readonly port: number;
  /** Value for `SMTP_URL`. */
  readonly url: string;
  /** Waits up to one second for emails that are being received. */
  close(): Promise<void>;
}

const MAX_BYTES = 25_000_000;
const CLOSE_WITHIN_MS = 1_000;

/**
 * Starts an SMTP server on 127.0.0.1 that accepts every email for any recipient, with or without a login, and delivers
 * none. It uses the next free port if `port` is in use. An email is on disk before it is accepted.
 */
export async function startMailbox({ port, folder }: { port: number; folder: string }): Promise<Mailbox> {
  await mkdir(folder, { recursive: true });
  await removeDrafts(folder);
  const refuseWhenStopped = (callback: (error?: Error) => void): void => {
    void isStopped(folder).then((stopped) => (stopped ? callback(refusal(421, 'mailbox is stopped')) : callback()));
  };
  const server = new SMTPServer({
    banner: 'Millrace mailbox',
    size: MAX_BYTES,
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: CLOSE_WITHIN_MS,
    onAuth: ({ username }, _session, callback) => callback(null, { user: username ?? '' }),
    onConnect: (_session, callback) => refuseWhenStopped(callback),
    // For clients that keep their connection open.
    onMailFrom: (_address, _session, callback) => refuseWhenStopped(callback),
    onData: (stream, session, callback) => {
      receive(folder, stream, session).then((id) => callback(null, `stored as ${id}`), callback);
    },
  });
  // A client that closes its connection during an email requires no handling.
  server.on('error', () => undefined);
  const bound = await freePort(port);
  const listener = server.listen(bound, '127.0.0.1');
  listener.on('connection', (socket: Socket) => socket.setNoDelay(true));
  await once(listener, 'listening');
  const close = (): Promise<void> => new Promise((resolve) => void server.close(() => resolve()));
  return { port: bound, url: `smtp://127.0.0.1:${bound}`, close };
}

async function receive(folder: string, stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
  const raw = await buffer(stream);
  if (stream.sizeExceeded) throw refusal(552, `mail is larger than ${MAX_BYTES} bytes`);
  const { mailFrom, rcptTo } = session.envelope;
  const from = mailFrom === false ? '' : mailFrom.address;
  const { id } = await storeMail(folder, { from, to: rcptTo.map(({ address }) => address) }, raw);
  return id;
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

/** Deletes emails that were being written when an earlier run was killed; they were not accepted. */
async function removeDrafts(folder: string): Promise<void> {
  const drafts = (await readdir(folder)).filter((name) => name.startsWith('.') && name.endsWith('.new'));
  for (const name of drafts) await rm(join(folder, name), { force: true });
}
