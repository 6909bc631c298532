import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished, vi } from 'vitest';

/** Starts a mail server on loopback that stores its emails and open connections; sets `SMTP_URL`. */
export async function startMailServer(options: SMTPServerOptions = {}) {
  const mails: ParsedMail[] = [];
  const open = new Set<string>();
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    disabledCommands: ['STARTTLS'],
    onConnect(session, accept) {
      open.add(session.id);
      accept();
    },
    onClose: (session) => void open.delete(session.id),
    onData(stream, _session, accept) {
      simpleParser(stream).then((mail) => {
        mails.push(mail);
        accept();
      }, accept);
    },
    ...options,
  });
  await listen(server.server);
  onTestFinished(() => new Promise<void>((closed) => server.close(closed)));
  return { mails, open };
}

/** Starts a server that accepts connections and never answers; sets `SMTP_URL`. */
export async function startSilentServer() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket));
  await listen(server);
  onTestFinished(() => new Promise<void>((closed) => void server.close(() => closed())));
  return { sockets };
}

/** Sets `SMTP_URL` to a port on which no server listens. */
export async function useClosedPort(): Promise<void> {
  const server = createServer();
  await listen(server);
  await new Promise((closed) => server.close(closed));
}

async function listen(server: Pick<Server, 'address' | 'listen'>): Promise<void> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', () => listening()));
  vi.stubEnv('SMTP_URL', `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`);
}
