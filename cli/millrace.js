#!/usr/bin/env node
// Plain JavaScript for any Node since 18: finds Node 24, which runs the rest.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The release that runs the stack of this machine and the sources of a clone. */
const NEEDED = 24;
/** The least release for the commands of the package: they read SQLite files. */
const LEAST = { major: 22, minor: 13 };
const ORPHAN_CHECK_MS = 500;
/** npm passes Ctrl-C on although the terminal has already sent it to the whole group. */
const SAME_SIGNAL_MS = 250;
/** The parent is a shell: npm starts one, which survives npm. The group is the id of the parent of the shell. */
const OF_SHELL = /^\d+ \((?:sh|dash|ash|bash|zsh|busybox)\) \S (\d+) /;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];

const file = fileURLToPath(import.meta.url);
const root = dirname(dirname(file));
/** The package `millrace` has the commands without those of this machine, which the package `millrace-dev` has. */
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const isLibrary = name === 'millrace' && !existsSync(join(root, 'cli', 'main.ts'));
const OF_THIS_MACHINE = ['dev', 'init', 'mail'];

if (process.platform === 'win32') {
  refuse('Millrace does not run on Windows natively: use WSL (https://learn.microsoft.com/windows/wsl/install).');
} else if (isLibrary && OF_THIS_MACHINE.includes(process.argv[2])) {
  const launcher = findDevelopment();
  if (launcher) await import(pathToFileURL(launcher));
} else if (isNewEnough()) {
  endWithParent(() => process.kill(process.pid, 'SIGTERM'));
  await runMain();
} else {
  const node = findNode();
  if (node) runUnder(node);
  else if (isLibrary) {
    refuse(
      `The commands of Millrace require Node ${LEAST.major}.${LEAST.minor} or later, and this is ${process.version}: ` +
        `use a later Node, or run npm install --save-dev millrace-dev@${version}, which contains Node ${NEEDED}.`,
    );
  } else {
    refuse(
      `Millrace requires Node ${NEEDED} and this is ${process.version}: run npm ci (which installs it on Linux), ` +
        'or get it from https://nodejs.org or your version manager.',
    );
  }
}

function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (!isLibrary) return major >= NEEDED;
  return major > LEAST.major || (major === LEAST.major && minor >= LEAST.minor);
}

/**
 * Returns the launcher of the package `millrace-dev` of the same version. Searches beside the package through which
 * this file was started: a package manager may have linked it into a project.
 */
function findDevelopment() {
  const install = `npm install --save-dev millrace-dev@${version}`;
  try {
    const manifest = createRequire(process.argv[1] ?? file).resolve('millrace-dev/package.json');
    const found = JSON.parse(readFileSync(manifest, 'utf8')).version;
    if (found === version) return join(dirname(manifest), 'cli', 'millrace.js');
    refuse(`millrace is ${version} and millrace-dev is ${found}: run ${install}`);
  } catch {
    refuse(`millrace ${process.argv[2]} is part of the package millrace-dev: run ${install}`);
  }
  return undefined;
}

async function runMain() {
  try {
    await import(await findMain());
  } catch (error) {
    const reason = String(error?.message).split('\n')[0];
    if (error?.code === 'ERR_MODULE_NOT_FOUND' && /^Cannot find package '[^/']/.test(reason)) {
      refuse(`The packages that Millrace requires are not installed: run npm ci (${reason}).`);
    } else if (isHalfInstalled(error)) {
      const todo = 'wait until npm has ended, or run npm ci';
      refuse(`The packages that Millrace requires are not installed completely: ${todo} (${reason}).`);
    } else throw error;
  }
}

/** Returns whether a package lacks a file, or its manifest ends early: npm may be installing it. */
function isHalfInstalled(error) {
  const codes = ['ERR_MODULE_NOT_FOUND', 'ERR_INVALID_PACKAGE_CONFIG'];
  return codes.includes(error?.code) && /\/node_modules\//.test(error.message);
}

/** The package contains a bundle. A clone builds one at the first call, and again when a source changes. */
async function findMain() {
  if (!existsSync(join(root, 'cli', 'main.ts'))) return '../dist/cli/main.js';
  const kept = keptBundle();
  if (kept) return kept;
  const { keepBundle } = await import('./bundle.ts');
  try {
    return await keepBundle();
  } catch (error) {
    console.error(`warning: cannot bundle the command line, so each call is slower: ${error.message.split('\n')[0]}`);
    return './main.ts';
  }
}

/** Returns the URL of the bundle that `bundle.ts` keeps; undefined without one, or when one of its sources changed. */
function keptBundle() {
  try {
    const { main, madeOf } = JSON.parse(readFileSync(join(root, '.millrace', 'cli', 'made.json'), 'utf8'));
    const isCurrent = madeOf.every(([path, mtimeMs, size]) => {
      const found = statSync(join(root, path), { throwIfNoEntry: false });
      return (found?.mtimeMs ?? null) === mtimeMs && (found?.size ?? null) === size;
    });
    return isCurrent && existsSync(join(root, main)) ? pathToFileURL(join(root, main)).href : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} sentence */
function refuse(sentence) {
  console.error(sentence);
  process.exitCode = 2;
}

/**
 * Finds the Node that npm installed beside this package as its dependency, unless it runs this file already and is too
 * old. Does not search the current folder or those above it, in which any account could have put a program.
 */
function findNode() {
  try {
    const manifest = createRequire(file).resolve(`node-${process.platform}-${process.arch}/package.json`);
    const node = join(dirname(manifest), 'bin', 'node');
    return existsSync(node) && node !== process.argv0 ? node : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Runs this file under another Node. The child gets its own session, so that each signal reaches it once, through this
 * process. The closed channel shows the child that this process was killed.
 * @param {string} node
 */
function runUnder(node) {
  const child = spawn(node, [...process.execArgv, file, ...process.argv.slice(2)], {
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  const last = new Map();
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (performance.now() - (last.get(signal) ?? Number.NEGATIVE_INFINITY) < SAME_SIGNAL_MS) return;
      last.set(signal, performance.now());
      child.kill(signal);
    });
  }
  endWithParent(() => child.kill('SIGTERM'));
  child.on('error', (error) => refuse(`Cannot run ${node}: ${error.message}.`));
  child.on('exit', (code, signal) => {
    for (const name of SIGNALS) process.removeAllListeners(name);
    if (signal === null) process.exit(code ?? 1);
    process.kill(process.pid, signal);
    // If the signal does not end this process (a blocked core dump, for example), exit with the shell's code for it.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
  });
}

/**
 * Calls `end` when the launcher of this process (this file or npm) is killed and cannot pass on a signal.
 * @param {() => void} end
 */
function endWithParent(end) {
  if (process.channel) {
    process.channel.unref();
    process.once('disconnect', end);
  } else if (process.env.npm_command !== undefined) {
    const parents = launchers();
    const timer = setInterval(() => {
      if (launchers() === parents) return;
      clearInterval(timer);
      end();
    }, ORPHAN_CHECK_MS);
    timer.unref();
  }
}

/** Returns the ids of the processes that started this one. pnpm starts no shell, and its parent may end before it. */
function launchers() {
  try {
    const [, parentOfShell = ''] = OF_SHELL.exec(readFileSync(`/proc/${process.ppid}/stat`, 'utf8')) ?? [];
    return `${process.ppid} ${parentOfShell}`;
  } catch {
    return String(process.ppid);
  }
}
