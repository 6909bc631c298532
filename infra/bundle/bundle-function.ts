import { copyFileSync, cpSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type Architecture, Code } from 'aws-cdk-lib/aws-lambda';
import { buildSync, type Metafile } from 'esbuild';
import { ownModule } from '../../core/own-files.ts';
import type { HandlerPlan } from '../plan/handler-plan.ts';
import { refuseMachineCode } from './machine-code.ts';
import { installNative } from './native-modules.ts';
import {
  apiEntry,
  bundleOptions,
  catalogAlias,
  catalogSource,
  definitionsAlias,
  definitionsSource,
  handlerAlias,
  handlerFiles,
} from './options.ts';
import { namedPlace } from './source-place.ts';
import { projectOf, rootOf } from './tsconfig.ts';

export interface FunctionBundle {
  /** Module of Millrace that exports `handler`, such as `functions/dispatcher`. */
  readonly entry: string;
  /** Absolute path by import specifier, such as that of one handler file by `#handler`. */
  readonly alias?: Readonly<Record<string, string>>;
  /** Source of a generated module by import specifier. */
  readonly generated?: Readonly<Record<string, string>>;
  /** Files and folders to copy beside the bundle: path by name in the asset. */
  readonly beside?: Readonly<Record<string, string>>;
  /** Packages to install beside the bundle, for the architecture of the function. */
  readonly nativeModules?: readonly string[];
  /** Whether the function imports handler files for their schemas, each when it is required, and never runs one. */
  readonly onlySchemas?: true;
  /** The file whose project has the tsconfig.json; default: that of the first alias, else the entry. */
  readonly source?: string | undefined;
  /** Whether `bundleHandlers` has bundled the function into its folder already. */
  readonly isBuilt?: true;
}

/** Describes the bundle of the API, which imports the file of a handler before it validates a payload. */
export function apiBundle(plans: readonly HandlerPlan[]): FunctionBundle {
  return {
    entry: apiEntry,
    alias: handlerFiles(plans),
    generated: { [catalogAlias]: catalogSource(plans) },
    nativeModules: [...new Set(plans.flatMap(({ nativeModules }) => nativeModules))],
    onlySchemas: true,
    source: plans[0]?.file,
  };
}

/**
 * Describes the bundle of a step of the deployment. It contains the definitions and no code of a handler: one of the
 * steps has the login of the owner.
 */
export function stepBundle(entry: string, plans: readonly HandlerPlan[]): FunctionBundle {
  return { entry, generated: { [definitionsAlias]: definitionsSource(plans.map(({ definition }) => definition)) } };
}

/**
 * Bundles one function into `folder`. The same sources give the same bytes in any folder: the source map names sources
 * by their paths in the project, or in the repository of Millrace.
 * @param installs whether native packages are installed, which requires the network.
 */
export function bundleFunction(
  folder: string,
  architecture: Architecture,
  bundle: FunctionBundle,
  installs = true,
): Code {
  const { beside = {}, nativeModules = [], isBuilt = false } = bundle;
  const loaded = isBuilt ? nativeModules : buildInto(folder, bundle);
  for (const [name, path] of Object.entries(beside)) copy(resolve(path), join(folder, name));
  if (installs && loaded.length > 0) installNative(folder, projectOf(sourceOf(bundle)), loaded, architecture);
  return Code.fromAsset(folder);
}

/** Returns the file whose project has the tsconfig.json. */
function sourceOf({ entry, alias, source }: FunctionBundle): string {
  return source ?? Object.values(alias ?? {})[0] ?? ownModule(entry);
}

/** Bundles one function, and returns the native packages that it loads. */
function buildInto(folder: string, bundle: FunctionBundle): readonly string[] {
  const { entry, alias, generated = {}, nativeModules = [], onlySchemas = false } = bundle;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const written = writeGenerated(`${folder}.generated`, generated);
  const module = ownModule(entry);
  const source = sourceOf(bundle);
  const root = rootOf(module, source);
  const request = { root, module, alias: { ...alias, ...written }, splitting: onlySchemas };
  const { outputFiles, metafile } = build(request, bundleOptions(nativeModules, source));
  const handler = alias?.[handlerAlias];
  refuseMachineCode(Object.keys(metafile.inputs), root, handler && `${relative(projectOf(source), handler)}: `);
  for (const { path, contents, text } of outputFiles) {
    const target = join(folder, basename(path));
    writeFileSync(
      target,
      path.endsWith('.map') ? withoutFolder(text, root, dirname(Object.values(written)[0] ?? '')) : contents,
    );
  }
  return onlySchemas ? importedAtStart(metafile, nativeModules) : nativeModules;
}

interface BuildRequest {
  /** The folder from which the source map names sources. */
  readonly root: string;
  readonly module: string;
  readonly alias: Readonly<Record<string, string>>;
  /** Whether what is imported later becomes files of its own. */
  readonly splitting: boolean;
}

function build({ root, module, alias, splitting }: BuildRequest, options: ReturnType<typeof bundleOptions>) {
  try {
    return buildSync({
      ...options,
      entryPoints: { index: module },
      // Placed at the root, so that a stack trace names `jobs/send-invoice.ts` and no folder on this machine.
      outdir: root,
      splitting,
      absWorkingDir: root,
      alias: { ...alias },
      write: false,
      metafile: true,
    });
  } catch (cause) {
    throw namedPlace(cause);
  }
}

/** Returns the packages that are imported when a bundle is loaded; `run` imports the others. */
function importedAtStart({ outputs }: Metafile, names: readonly string[]): string[] {
  const imports = Object.values(outputs).flatMap((output) => output.imports);
  const atStart = imports.filter(({ external, kind }) => external && kind !== 'dynamic-import');
  return names.filter((name) => atStart.some(({ path }) => path === name || path.startsWith(`${name}/`)));
}

function writeGenerated(folder: string, modules: Readonly<Record<string, string>>): Record<string, string> {
  const paths = Object.entries(modules).map(([specifier, source]) => {
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `${specifier.replace(/\W/g, '')}.ts`);
    writeFileSync(path, source);
    return [specifier, path];
  });
  return Object.fromEntries(paths);
}

/** Removes the folder of a generated module from a source map: it is a path on this machine. */
function withoutFolder(map: string, root: string, folder: string): string {
  const parsed = JSON.parse(map) as { sources: string[] };
  const sources = parsed.sources.map((source) =>
    resolve(root, source).startsWith(`${folder}/`) ? basename(source) : source,
  );
  return JSON.stringify({ ...parsed, sources });
}

function copy(from: string, to: string): void {
  if (statSync(from).isDirectory()) cpSync(from, to, { recursive: true });
  else copyFileSync(from, to);
}
