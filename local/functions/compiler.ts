import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Compile } from '../../core/catalog/catalog.ts';
import { SourceError } from '../../core/catalog/catalog-failure.ts';
import { stemOf } from '../../core/catalog/handler-files.ts';
import { createModuleFolder } from '../../core/catalog/module-folder.ts';
import { assertTrustedSources } from '../trust.ts';
import { signatureWithImports } from './source-signature.ts';

interface CompilerOptions {
  readonly project: string;
  /** The folder to which modules are written. */
  readonly target: string;
  /** Called with the absolute paths of the sources of each module, or with those that an error names. */
  readonly onSources?: (files: readonly string[]) => void;
}

/** A compiled module, which remains valid as long as its signature does. */
interface Made {
  readonly file: string;
  readonly sources: readonly string[];
  readonly signature: string;
}

/**
 * Returns a function that compiles handler files, each again only after one of its sources has changed. Without the
 * bundler, which the package `millrace-dev` installs, Node imports the files themselves.
 */
export function openCompiler({ project, target, onSources = () => undefined }: CompilerOptions): Compile {
  const last = new Map<string, Promise<unknown>>();
  const bundler = import('../../infra/bundle/compile.ts').catch((error: { code?: unknown }) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  });
  const made = new Map<string, Made>();
  const use = (sources: readonly string[]) => {
    onSources(sources);
    assertTrustedSources(project, sources);
  };
  const compile: Compile = async (file) => {
    const { compileSource, namedSources } = (await bundler) ?? {};
    if (compileSource === undefined || namedSources === undefined) return file;
    const module = join(target, `${stemOf(file)}.mjs`);
    const before = made.get(module);
    // Another file of the same name may have written the module since.
    if (before?.file === file && existsSync(module)) {
      if (before.signature === (await signatureWithImports(before.sources))) {
        use(before.sources);
        return module;
      }
    }
    made.delete(module);
    const begun = Date.now();
    try {
      const { sources } = await compileSource(file, module, use);
      const signature = await signatureWithImports(sources, begun);
      if (signature !== undefined) made.set(module, { file, sources, signature });
      return module;
    } catch (error) {
      if (error instanceof SourceError) onSources(namedSources(error, file));
      throw error;
    }
  };
  // One after another for each file: an earlier call must not write its module over a newer one.
  return (file) => {
    const compiled = (last.get(file) ?? Promise.resolve()).then(() => compile(file));
    last.set(
      file,
      compiled.catch(() => undefined),
    );
    return compiled;
  };
}

/** Runs `work` with a compiler that writes to a folder of its own, which only this account can read. */
export async function withCompiler<T>(project: string, work: (compile: Compile) => Promise<T>): Promise<T> {
  const target = createModuleFolder(project);
  try {
    return await work(openCompiler({ project, target }));
  } finally {
    await rm(target, { recursive: true, force: true });
  }
}
