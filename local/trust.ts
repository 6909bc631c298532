import { spawnSync } from 'node:child_process';
import { lstatSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { optionalSetting } from '../core/config.ts';
import { shellWord } from '../core/text.ts';
import { accountName, groupName } from './ownership.ts';

/** The error for a file that another account on the machine could have written, or that this account cannot read. */
export class UntrustedError extends Error {
  override readonly name = 'UntrustedError';
}

/** A path, and what it points to: undefined if it is missing, such as the target of an editor's lock link. */
export interface Checked {
  readonly path: string;
  readonly stats: Stats | undefined;
}

/** The files, besides the sources, that determine which code runs: settings, packages, and the paths of imports. */
const PROJECT_FILES = ['package.json', 'tsconfig.json', '.env', 'node_modules'];

/**
 * Checks the root of a project, the files there that decide which code runs, and, except packages, everything in the
 * folder of the root that contains the handlers, such as `functions` for `functions/handlers`.
 * @throws UntrustedError if another account could have written one of them
 */
export function assertTrustedCode(project: string, handlers: string): void {
  const checked = [project, ...PROJECT_FILES.map((name) => join(project, name))].map(assertTrusted);
  const path = relative(project, handlers);
  const folder = path.startsWith('..') ? handlers : join(project, path.split(sep)[0] ?? '');
  refuse(accessListFault([...checked, ...walk(folder)]));
}

/**
 * Checks files that a handler imports, and their folders up to the root of the project; not packages.
 * @throws UntrustedError as `assertTrustedCode`
 */
export function assertTrustedSources(project: string, files: readonly string[]): void {
  const paths = new Set<string>();
  for (const file of files) {
    if (file.includes('/node_modules/')) continue;
    for (let path = file; path !== project && path !== dirname(path); path = dirname(path)) {
      paths.add(path);
      // A source outside of the project: only its own folder.
      if (!file.startsWith(`${project}${sep}`) && path !== file) break;
    }
  }
  refuse(accessListFault([...paths].map(assertTrusted)));
}

/** Checks a folder and everything in it except packages. @throws UntrustedError as `assertTrustedCode` */
export function assertTrustedFolder(folder: string): void {
  refuse(accessListFault([...walk(folder)]));
}

/** Checks what each path points to, and returns it. */
function* walk(folder: string, seen: Set<string> = new Set()): Generator<Checked> {
  const checked = assertTrusted(folder);
  yield checked;
  if (checked.stats?.isDirectory() !== true) return;
  const real = realpathSync(folder);
  // Links can form a cycle.
  if (seen.has(real)) return;
  seen.add(real);
  for (const name of namesIn(folder)) if (name !== 'node_modules') yield* walk(join(folder, name), seen);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    throw new UntrustedError((cause as Error).message, { cause });
  }
}

function assertTrusted(path: string): Checked {
  const { stats, fault } = judge(path);
  refuse(fault);
  return { path, stats };
}

/** @throws UntrustedError for a fault */
export function refuse(fault: string | undefined): void {
  if (fault !== undefined) throw new UntrustedError(fault);
}

/**
 * Returns what a path points to, and why it is not trusted. Both a link and its target must belong to a trusted
 * account.
 */
export function judge(path: string): { stats: Stats | undefined; fault: string | undefined } {
  try {
    const link = lstatSync(path, { throwIfNoEntry: false });
    const stats = link && statSync(path, { throwIfNoEntry: false });
    return { stats, fault: (link && faultOf(path, link)) ?? (stats && faultOf(path, stats)) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { stats: undefined, fault: code === 'ENOTDIR' ? undefined : message };
  }
}

function faultOf(path: string, stats: Stats): string | undefined {
  // Without Unix accounts, the mode has no meaning.
  if (process.getuid === undefined) return undefined;
  if (!trustedAccounts().includes(stats.uid)) {
    const owner = accountName(stats.uid);
    return `${path} belongs to ${owner}, so it is not used: run as ${owner}, or change its owner if you trust it`;
  }
  if (stats.isSymbolicLink()) return undefined;
  if ((stats.mode & 0o002) !== 0)
    return `every user can change ${path}, so it is not used: run chmod o-w ${shellWord(path)}`;
  const isShared = (stats.mode & 0o020) !== 0 && !trustedGroups().includes(stats.gid);
  if (!isShared) return undefined;
  return `the group ${groupName(stats.gid)} can change ${path}, so it is not used: run chmod g-w ${shellWord(path)}`;
}

/** Most paths in one command: its arguments have a limit. */
const PATHS_AT_ONCE = 200;

/**
 * Returns which of these paths has an access list (ACL) that may permit another account to change it. The group bits of
 * its mode are then the most that the list grants, so only paths that their group can change are examined.
 */
export function accessListFault(checked: readonly Checked[]): string | undefined {
  if (process.getuid === undefined) return undefined;
  const shared = checked.filter(({ stats }) => stats && (stats.mode & 0o020) !== 0).map(({ path }) => resolve(path));
  for (let at = 0; at < shared.length; at += PATHS_AT_ONCE) {
    const some = shared.slice(at, at + PATHS_AT_ONCE);
    const path = haveAccessList(some) ? some.find((one) => haveAccessList([one])) : undefined;
    if (path === undefined) continue;
    return `other accounts may change ${path} by its access list, so it is not used: run setfacl -b ${path}`;
  }
  return undefined;
}

/** Node does not read access lists: ls marks a path that has one with a + after the mode. */
function haveAccessList(paths: readonly string[]): boolean {
  const { stdout } = spawnSync('ls', ['-ldLn', ...paths], { encoding: 'utf8', timeout: 10_000 });
  return /^[a-z-]{10}\+/im.test(stdout ?? '');
}

/** Returns the accounts whose files are trusted: root, the current account, and the account that ran sudo. */
function trustedAccounts(): number[] {
  return [0, process.getuid?.() ?? 0, ...sudo('SUDO_UID')];
}

/**
 * Returns the primary groups of these accounts. On systems where new files are group-writable, each account has a group
 * of its own.
 */
function trustedGroups(): number[] {
  return [0, primaryGroup(), ...sudo('SUDO_GID')];
}

/** Returns the primary group of the account: after newgrp, the process has a different group. */
function primaryGroup(): number {
  try {
    return userInfo().gid;
  } catch {
    // An account without an entry, as in some containers.
    return process.getgid?.() ?? 0;
  }
}

function sudo(name: 'SUDO_UID' | 'SUDO_GID'): number[] {
  const id = process.getuid?.() === 0 ? optionalSetting(name) : undefined;
  return id === undefined ? [] : [Number(id)];
}
