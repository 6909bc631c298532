import type pg from 'pg';

/** Runs `copy … from stdin` with these lines, which the client does not support by itself. */
export function copyIn(client: pg.Client, text: string, lines: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    const nothing = () => undefined;
    const copy = {
      submit: (connection: { query(sql: string): void }) => connection.query(text),
      handleCopyInResponse: (connection: { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }) => {
        connection.sendCopyFromChunk(Buffer.from(lines.map((line) => `${line}\n`).join('')));
        connection.endCopyFrom();
      },
      handleError: (error: Error) => {
        failure = error;
        reject(error);
      },
      handleReadyForQuery: () => failure ?? resolve(),
      handleCommandComplete: nothing,
      handleRowDescription: nothing,
    };
    client.query(copy as unknown as pg.Submittable);
  });
}
