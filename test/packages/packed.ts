import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPackages } from '../../packages/build.ts';

const run = promisify(execFile);

/** The packages as npm would publish them. */
export interface Packed {
  /** Paths of the .tgz files by name. */
  readonly files: Readonly<Record<string, string>>;
  /** The folder that contains everything of the test. */
  readonly folder: string;
  remove(): Promise<void>;
}

/** Builds and packs the packages in a new folder. */
export async function packAll(names: readonly string[]): Promise<Packed> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-packages-'));
  // Postgres, which refuses to run as root, requires access to the folder.
  await chmod(folder, 0o755);
  const dist = join(folder, 'dist');
  await buildPackages(dist);
  const { stdout } = await npm(folder, 'pack', '--json', ...names.map((name) => `./dist/${name}`));
  const packed: { name: string; filename: string }[] = Object.values(JSON.parse(stdout));
  const files = Object.fromEntries(packed.map(({ name, filename }) => [name, join(folder, filename)]));
  return { files, folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Creates a project with these files, from name to content. */
export async function makeForeignProject(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs npm without the variables of the npm that runs the tests. */
export function npm(cwd: string, ...args: readonly string[]): Promise<Finished> {
  return execute(cwd, 'npm', args);
}

/** Runs a program until it ends, with these variables in addition to the environment. */
export async function execute(
  cwd: string,
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_ENV|INIT_CWD)/i.test(name));
  const env = { ...Object.fromEntries(inherited), NO_COLOR: '1', ...variables };
  try {
    return { code: 0, ...(await run(program, [...args], { cwd, env, maxBuffer: 50_000_000 })) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { code, stdout: stdout ?? '', stderr: stderr ?? '' };
  }
}
