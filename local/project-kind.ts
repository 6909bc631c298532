import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The fields of a package.json that `init` reads or extends. */
export interface Manifest {
  main?: string;
  private?: boolean;
  type?: string;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** What `init` has to know of a project before it writes. */
export interface ProjectKind {
  /** Whether the package manager has just created the package.json, and no program exists. */
  readonly isNew: boolean;
  readonly language: 'TypeScript' | 'JavaScript';
  /** Suffix of the first handler, without the dot. */
  readonly suffix: string;
}

/** The script that `npm init` and `pnpm init` write. */
export const NO_TEST = 'echo "Error: no test specified" && exit 1';

const PACKAGES = /^(dev|optional)?dependencies$/i;
/** The other fields that `npm init`, `pnpm add` and `pnpm init` write. */
const INITIAL = [
  ...['name', 'version', 'description', 'main', 'scripts', 'keywords', 'author', 'license', 'private', 'type'],
  ...['packageManager', 'devEngines', 'repository', 'bugs', 'homepage'],
];
/** Files beside the package.json that contain no program. */
const WITHOUT_PROGRAM = /^(\..*|node_modules|package\.json|.*lock.*|(readme|license)\b.*)$/i;
const HANDLER = /^say-hello\.([cm]?[jt]s)$/;

export async function projectKind(folder: string, manifest: Manifest | undefined): Promise<ProjectKind> {
  const isNew = await isNewProject(folder, manifest);
  const jobs = await readdir(join(folder, 'jobs')).catch(() => []);
  const hasTsconfig = await exists(join(folder, 'tsconfig.json'));
  const packages = { ...manifest?.dependencies, ...manifest?.devDependencies };
  const isTyped = isNew || hasTsconfig || 'typescript' in packages || jobs.some((name) => /\.[cm]?ts$/.test(name));
  // A second file for the same job type would be refused, and the first one with it.
  const [existing] = jobs.flatMap((name) => HANDLER.exec(name)?.[1] ?? []);
  const written = isTyped ? typedSuffix(isNew, manifest?.type, hasTsconfig) : plainSuffix(manifest?.type);
  return { isNew, language: isTyped ? 'TypeScript' : 'JavaScript', suffix: existing ?? written };
}

/** Neither Node nor a compiler with the options of our tsconfig.json reads `import` in a CommonJS file. */
function typedSuffix(isNew: boolean, type: string | undefined, hasTsconfig: boolean): string {
  if (isNew || type === 'module') return 'ts';
  return type === 'commonjs' || !hasTsconfig ? 'mts' : 'ts';
}

function plainSuffix(type: string | undefined): string {
  return type === 'module' ? 'js' : 'mjs';
}

/** Returns whether npm has just created the package.json, which then contains only packages, or `npm init` or pnpm. */
async function isNewProject(folder: string, manifest: Manifest | undefined): Promise<boolean> {
  const { main = 'index.js', type, scripts = {}, ...others } = manifest ?? {};
  const fields = Object.keys(manifest ?? {});
  if (fields.every((field) => PACKAGES.test(field))) return true;
  const isInitial = Object.keys(others).every((field) => PACKAGES.test(field) || INITIAL.includes(field));
  const runsNothing = Object.keys(scripts).join() === 'test' && scripts.test === NO_TEST;
  if (!isInitial || !runsNothing || (await exists(join(folder, main)))) return false;
  // npm 11 writes the type commonjs into each new package.json. A CommonJS program would not load as an ES module.
  return type !== 'commonjs' || (await readdir(folder)).every((name) => WITHOUT_PROGRAM.test(name));
}

export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
