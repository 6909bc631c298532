import type { Broker } from '../broker/broker.ts';
import type { Journal } from '../broker/journal.ts';
import type { Message } from '../message/message.ts';
import { openStoreFile, type Statements, type StoreFile } from './store-file.ts';
import { loadStore } from './store-load.ts';

/**
 * Fills the broker from a SQLite file and keeps its changes there: one transaction for each turn of the event loop
 * that changed something, however many requests it served.
 */
export function openStore(broker: Broker, path: string): void {
  const file = openStoreFile(path);
  // In which queue the file has a message, by `seq`.
  const queueOf = new Map<number, string>();
  broker.journal = createStoreJournal(createWriter(file, queueOf), file);
  try {
    loadStore(broker, file, queueOf);
  } catch (error) {
    file.close();
    throw error;
  }
}

type Write = (statements: Statements) => void;

interface Writer {
  /** The newest state of a message replaces the one before. */
  message(queueName: string, message: Message): void;
  other(write: Write): void;
  committed(): Promise<void>;
  commit(): void;
}

function createWriter(file: StoreFile, queueOf: Map<number, string>): Writer {
  const messages = new Map<number, { readonly queueName: string; readonly message: Message }>();
  const others: Write[] = [];
  let flush: Promise<void> | undefined;

  function commit(): void {
    flush = undefined;
    if (messages.size === 0 && others.length === 0) return;
    try {
      file.transact(() => {
        for (const write of others) write(file.statements);
        for (const entry of messages.values()) writeMessage(file.statements, queueOf, entry.queueName, entry.message);
      });
    } catch (error) {
      exitOutOfStep(error);
    }
    messages.clear();
    others.length = 0;
  }

  function committed(): Promise<void> {
    if (messages.size === 0 && others.length === 0) return Promise.resolve();
    flush ??= new Promise((resolve) => setImmediate(() => resolve(commit())));
    return flush;
  }

  return {
    commit,
    committed,
    message: (queueName, message) => void messages.set(message.seq, { queueName, message }),
    other: (write) => void others.push(write),
  };
}

/** Memory and file have parted: a restart from the file is the only honest way on. */
function exitOutOfStep(error: unknown): never {
  const reason = error instanceof Error ? error.message : String(error);
  process.stderr.write(`SQS cannot write its data file any more: ${reason}\n`);
  process.exit(1);
}

function createStoreJournal(writer: Writer, file: StoreFile): Journal {
  return {
    committed: writer.committed,
    message: writer.message,
    queue: ({ name, createdAt, modifiedAt, purgedAt, settings, tags }) => {
      const data = JSON.stringify({ createdAt, modifiedAt, purgedAt, tags, attributes: settings.attributes });
      writer.other((statements) => {
        statements.forgetDeleted.run(name);
        statements.upsertQueue.run(name, data);
      });
    },
    queueDeleted: (name, deletedAt) =>
      writer.other((statements) => {
        statements.deleteQueue.run(name);
        statements.noteDeleted.run(name, deletedAt);
      }),
    task: ({ pace: _, ...task }) => {
      const data = JSON.stringify(task);
      writer.other((statements) => void statements.upsertTask.run(task.id, data));
    },
    taskForgotten: ({ id }) => writer.other((statements) => void statements.deleteTask.run(id)),
    close: async () => {
      writer.commit();
      file.close();
    },
  };
}

function writeMessage(statements: Statements, queueOf: Map<number, string>, queueName: string, message: Message): void {
  const { seq, state, visibleAt, receipt, receiveCount, firstReceivedAt, lastReceivedAt } = message;
  const stored = queueOf.get(seq);
  if (state === 'gone') {
    if (queueOf.delete(seq)) statements.deleteMessage.run(seq);
    return;
  }
  const changing = [state, visibleAt, receipt, receiveCount, firstReceivedAt ?? null, lastReceivedAt ?? null] as const;
  if (stored === queueName) {
    statements.updateMessage.run(...changing, seq);
    return;
  }
  if (stored !== undefined) statements.deleteMessage.run(seq);
  const { id, content, sentAt, retainedFrom, sourceArn } = message;
  statements.insertMessage.run(
    seq,
    queueName,
    ...changing,
    JSON.stringify({ id, content, sentAt, retainedFrom, sourceArn }),
  );
  queueOf.set(seq, queueName);
}
