import { optionalSetting } from '../core/config.ts';

/** The package manager of a project. */
export interface PackageManager {
  /** What precedes `millrace` to run it in the project. */
  readonly run: 'npx' | 'pnpm' | 'yarn';
  readonly install: string;
  /** What precedes the names of packages to add for development. */
  readonly addForDevelopment: string;
  /** Release of the Node that runs it, such as `20.19.0`; undefined if it is unknown. */
  readonly node: string | undefined;
}

const COMMANDS = {
  npm: { run: 'npx', install: 'npm install', addForDevelopment: 'npm install --save-dev' },
  pnpm: { run: 'pnpm', install: 'pnpm install', addForDevelopment: 'pnpm add --save-dev' },
  yarn: { run: 'yarn', install: 'yarn install', addForDevelopment: 'yarn add --dev' },
} as const;

/**
 * Returns the package manager that runs this process, or npm.
 * @param agent such as `pnpm/12.21.0 npm/? node/v24.21.0 linux x64`; all three set it for the programs that they run.
 */
export function packageManager(agent = optionalSetting('npm_config_user_agent') ?? ''): PackageManager {
  const name = (['pnpm', 'yarn'] as const).find((one) => agent.startsWith(`${one}/`)) ?? 'npm';
  return { ...COMMANDS[name], node: /\bnode\/v(\d+\.\d+\.\d+)/.exec(agent)?.[1] };
}

/** The release from which Node runs TypeScript. */
const TYPES_STRIPPED = { major: 22, minor: 18 };

/**
 * Returns why the test of a TypeScript project would not run, for the person who runs it; undefined if it would. npm
 * puts the Node of `millrace-dev` in front of that of the machine; pnpm and Yarn do not.
 */
export function nodeTooOld({ run, node }: PackageManager): string | undefined {
  if (run === 'npx' || node === undefined) return undefined;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > TYPES_STRIPPED.major || (major === TYPES_STRIPPED.major && minor >= TYPES_STRIPPED.minor))
    return undefined;
  const { major: least, minor: from } = TYPES_STRIPPED;
  return `Node runs tests in TypeScript from ${least}.${from} on, and this is ${node}: use a later Node, tsx or vitest`;
}
