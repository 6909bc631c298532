import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type AddressObject, simpleParser } from 'mailparser';

/** A received email. An email sent twice is stored as two emails. */
export interface Mail {
  /** Sorts by arrival; also the file name without `.eml`. */
  readonly id: string;
  /** ISO 8601. */
  readonly receivedAt: string;
  /** Sender in the SMTP envelope. */
  readonly from: string;
  readonly to: readonly string[];
  /** With angle brackets; undefined if the mail has no Message-ID. */
  readonly messageId?: string;
  readonly subject: string;
}

/** An email with its content. */
export interface OpenedMail extends Mail {
  readonly text: string;
  /** The headers `From` and `To`, with names. */
  readonly headerFrom: string;
  readonly headerTo: string;
}

export interface Envelope {
  readonly from: string;
  readonly to: readonly string[];
}

const SUMMARY = 'X-Millrace-Mail: ';
const HEAD_BYTES = 4_096;
const READERS = 32;
let sequence = 0;

/**
 * Writes an email as `<id>.eml`, which mail programs can open. Its summary is the first header line, so a listing reads
 * only the first bytes of each file. When the promise resolves, the mail survives a power failure.
 */
export async function storeMail(folder: string, envelope: Envelope, raw: Buffer): Promise<Mail> {
  const receivedAt = new Date().toISOString();
  const mail: Mail = { id: nextId(receivedAt), receivedAt, ...envelope, ...(await readHeaders(raw)) };
  // A header must be ASCII.
  const summary = JSON.stringify(mail).replace(
    /[\u007f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const draft = join(folder, `.${mail.id}.new`);
  await writeDurably(draft, Buffer.concat([Buffer.from(`${SUMMARY}${summary}\r\n`), raw]));
  await rename(draft, join(folder, `${mail.id}.eml`));
  await syncFolder(folder);
  return mail;
}

function nextId(receivedAt: string): string {
  sequence += 1;
  const order = String(sequence).padStart(8, '0');
  return `${receivedAt.replace(/[-:.]/g, '')}-${order}-${randomBytes(3).toString('hex')}`;
}

async function readHeaders(raw: Buffer): Promise<Pick<Mail, 'messageId' | 'subject'>> {
  const end = raw.indexOf('\r\n\r\n');
  const { messageId, subject } = await simpleParser(end < 0 ? raw : raw.subarray(0, end + 4));
  return { ...(messageId === undefined ? {} : { messageId }), subject: subject ?? '' };
}

async function writeDurably(path: string, content: Buffer): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(content);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Reads every email in the folder, oldest first; an empty list if the folder does not exist. */
export async function readMails(folder: string): Promise<Mail[]> {
  const names = (await listFolder(folder)).filter((name) => name.endsWith('.eml') && !name.startsWith('.')).sort();
  const mails: (Mail | undefined)[] = new Array(names.length);
  const queue = names.entries();
  const reader = async (): Promise<void> => {
    for (const [index, name] of queue) mails[index] = await readSummary(join(folder, name));
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  return mails.filter((mail) => mail !== undefined);
}

/** Reads one email with its text; undefined if the id is unknown. */
export async function readMail(folder: string, id: string): Promise<OpenedMail | undefined> {
  if (!/^[\w-]+$/.test(id)) return undefined;
  const path = join(folder, `${id}.eml`);
  const mail = await readSummary(path);
  if (mail === undefined) return undefined;
  const { text, from, to } = await simpleParser(await readFile(path));
  return { ...mail, text: text ?? '', headerFrom: addresses(from), headerTo: addresses(to) };
}

function addresses(header: AddressObject | AddressObject[] | undefined): string {
  return [header ?? []]
    .flat()
    .map(({ text }) => text)
    .join(', ');
}

/** Reads the summary of an email; undefined if the file was deleted or was not written by `storeMail`. */
async function readSummary(path: string): Promise<Mail | undefined> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const line = await readFirstLine(file);
    return line.startsWith(SUMMARY) ? (JSON.parse(line.slice(SUMMARY.length)) as Mail) : undefined;
  } finally {
    await file.close();
  }
}

async function readFirstLine(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  const end = buffer.subarray(0, bytesRead).indexOf('\r\n');
  if (end >= 0 || bytesRead < HEAD_BYTES) return buffer.toString('utf8', 0, end < 0 ? bytesRead : end);
  const [line = ''] = (await file.readFile('utf8')).split('\r\n', 1);
  return line;
}

async function listFolder(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}
