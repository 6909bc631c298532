import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataFolder } from '../data-folder.ts';
import { judge, refuse } from '../trust.ts';

/** The shared server, as the process that keeps it describes it. */
export interface ServerState {
  /** Address of a database of the server, with the login of its superuser. */
  readonly url: string;
  /** Different for each start. */
  readonly id: string;
}

/**
 * Creates the folder of the shared server, which belongs to this account. Its name contains the release of Postgres,
 * because a release cannot read the data of another one.
 * @throws Error that names the path if another account could have written it
 */
export async function openServerFolder(release: string): Promise<string> {
  const account = process.getuid?.() ?? 'user';
  const folder = join(tmpdir(), `millrace-testing-${account}-${release}`);
  const isNew = await mkdir(folder).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
  // The account that runs Postgres for root must reach its data.
  if (isNew) await chmod(folder, 0o755);
  refuse(judge(folder).fault);
  return openDataFolder(folder);
}

/** Returns the state of the server; undefined if no process keeps one. */
export async function readServerState(folder: string): Promise<ServerState | undefined> {
  const text = await readFile(join(folder, 'server.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as ServerState);
}

/** Publishes the address of the server. The file is complete at any moment. */
export async function writeServerState(folder: string, url: string): Promise<void> {
  const state: ServerState = { url, id: randomUUID() };
  const draft = join(folder, 'server.json.new');
  await writeFile(draft, JSON.stringify(state), { mode: 0o600 });
  await rename(draft, join(folder, 'server.json'));
}

export async function removeServerState(folder: string): Promise<void> {
  await rm(join(folder, 'server.json'), { force: true });
}
