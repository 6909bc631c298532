import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { ROOT } from './documents.ts';

/** The output and the exit code of a line. */
export interface Typed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A fresh project in which the product runs, and a second terminal in the same folder. */
export interface Terminal {
  readonly project: Project;
  readonly stack: RunningStack;
  /** Runs a line that must succeed; returns its output. */
  type(line: string, env?: NodeJS.ProcessEnv): Promise<string>;
  /** Runs a line that may fail. */
  attempt(line: string, env?: NodeJS.ProcessEnv): Promise<Typed>;
  close(): Promise<void>;
}

/** A quick replacement of npx, which takes more than a second to find a command; one test uses npx itself. */
const NPX = `#!/bin/sh
program=$1
shift
case $program in
  millrace) exec '${process.execPath}' cli/millrace.js "$@" ;;
  node) exec '${process.execPath}' "$@" ;;
esac
echo "npx $program is not supported here" >&2
exit 1
`;

const AWS = `#!/bin/sh
exec '${process.execPath}' '${fileURLToPath(new URL('./aws-stand-in.mjs', import.meta.url))}' "$@"
`;

export async function openTerminal(): Promise<Terminal> {
  const project = await makeProject();
  await symlink(join(ROOT, 'cli'), join(project.folder, 'cli'));
  const manifest = { name: 'millrace', version: '0.0.0', type: 'module', bin: { millrace: 'cli/millrace.js' } };
  await writeFile(join(project.folder, 'package.json'), JSON.stringify(manifest));
  await mkdir(join(project.folder, 'bin'));
  await writeFile(join(project.folder, 'bin', 'npx'), NPX, { mode: 0o755 });
  await writeFile(join(project.folder, 'bin', 'aws'), AWS, { mode: 0o755 });
  const stack = await startUp(project);
  const path = { PATH: `${project.folder}/bin:${process.env.PATH}` };
  const attempt: Terminal['attempt'] = (line, env) => run(line, project.folder, { ...process.env, ...path, ...env });
  return {
    project,
    stack,
    attempt,
    type: async (line, env) => {
      const { code, stdout, stderr } = await attempt(line, env);
      if (code !== 0) throw new Error(`${line}\nended with ${code}:\n${stderr}`);
      return stdout;
    },
    close: async () => {
      await stack.stop();
      await project.remove();
    },
  };
}

function run(line: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Typed> {
  return new Promise((resolve) => {
    const child = execFile('/bin/sh', ['-c', line], { cwd, env }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout: stdout.trim(), stderr: stderr.trim() });
    });
  });
}
