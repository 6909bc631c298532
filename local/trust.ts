import { lstatSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { optionalSetting } from '../core/config.ts';
import { accountName, groupName } from './ownership.ts';

/** The error for a file that another account on the machine could have written, or that this account cannot read. */
export class UntrustedError extends Error {
  override readonly name = 'UntrustedError';
}

/** The files, besides the sources, that determine which code runs: settings, packages, and the paths of imports. */
const PROJECT_FILES = ['package.json', 'tsconfig.json', '.env', 'node_modules'];

/**
 * Checks the root of a project, the files there that decide which code runs, and, except packages, everything in the
 * folder of the root that contains the handlers, such as `functions` for `functions/handlers`.
 * @throws UntrustedError if another account could have written one of them
 */
export function assertTrustedCode(project: string, handlers: string): void {
  assertTrusted(project);
  for (const name of PROJECT_FILES) assertTrusted(join(project, name));
  const path = relative(project, handlers);
  assertTrustedFolder(path.startsWith('..') ? handlers : join(project, path.split(sep)[0] ?? ''));
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
  for (const path of paths) assertTrusted(path);
}

/** Checks a folder and everything in it except packages. @throws UntrustedError as `assertTrustedCode` */
export function assertTrustedFolder(folder: string, seen: Set<string> = new Set()): void {
  if (assertTrusted(folder)?.isDirectory() !== true) return;
  const real = realpathSync(folder);
  // Links can form a cycle.
  if (seen.has(real)) return;
  seen.add(real);
  for (const name of namesIn(folder)) if (name !== 'node_modules') assertTrustedFolder(join(folder, name), seen);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    throw new UntrustedError((cause as Error).message, { cause });
  }
}

/** Returns what a path points to; undefined if it is missing, such as the target of an editor's lock link. */
function assertTrusted(path: string): Stats | undefined {
  const { stats, fault } = judge(path);
  if (fault !== undefined) throw new UntrustedError(fault);
  return stats;
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
  if ((stats.mode & 0o002) !== 0) return `every user can change ${path}, so it is not used: run chmod o-w ${path}`;
  const isShared = (stats.mode & 0o020) !== 0 && !trustedGroups().includes(stats.gid);
  if (!isShared) return undefined;
  return `the group ${groupName(stats.gid)} can change ${path}, so it is not used: run chmod g-w ${path}`;
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
