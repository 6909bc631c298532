import { symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { encodeMessage } from '../../core/aws/message.ts';
import { ownModule } from '../../core/own-files.ts';
import {
  bundleOptions,
  definitionsAlias,
  definitionsSource,
  handlerAlias,
  handlerEntry,
} from '../../infra/bundle/options.ts';

/** The bundle of a deployed function. */
export interface ColdFunction {
  readonly name: string;
  /** Path of the module. */
  readonly bundle: string;
  /** What the function is invoked with, so that it queries the database; undefined for a step of a deployment. */
  readonly event: string | undefined;
  /** Bytes of the module and of what it imports at its start. */
  readonly bytes: number;
  readonly gzipBytes: number;
  /** Bytes of each package, the largest first. `millrace` is this repository. */
  readonly packages: readonly (readonly [string, number])[];
}

const ROOT = resolve(import.meta.dirname, '../..');
const MESSAGE = encodeMessage({ epoch: 'cold', jobId: '1', claimNo: '1' });
const attributes = { ApproximateReceiveCount: '1', SentTimestamp: '1800000000000' };
const BATCH = { Records: [{ messageId: 'm', receiptHandle: 'r', body: MESSAGE, attributes }] };
const HTTP = { requestId: 'r', domainName: 'cold.test', http: { method: 'GET' } };
const READY = { rawPath: '/readyz', rawQueryString: '', headers: {}, isBase64Encoded: false, requestContext: HTTP };

interface Source {
  readonly entry: string;
  readonly event?: object;
  /** File of the handler, and its packages with native code. */
  readonly handler?: string;
  readonly nativeModules?: readonly string[];
}

/** The functions of a deployment, with the sample handlers and one without libraries. */
const SOURCES: Readonly<Record<string, Source>> = {
  dispatcher: { entry: 'functions/dispatcher', event: { nudge: true } },
  'dlq-mirror': { entry: 'functions/dlq-mirror', event: {} },
  api: { entry: 'functions/api', event: READY, nativeModules: ['sharp'] },
  migrate: { entry: 'functions/migrate' },
  registry: { entry: 'functions/registry' },
  no_op: { entry: handlerEntry, event: BATCH, handler: 'bench/handlers/no-op.ts' },
  send_reminder: { entry: handlerEntry, event: BATCH, handler: 'functions/handlers/send-reminder.ts' },
  make_thumbnail: {
    ...{ entry: handlerEntry, event: BATCH, handler: 'functions/handlers/make-thumbnail.ts' },
    nativeModules: ['sharp'],
  },
};

/** Bundles each function into a folder, with the options of a deployment. */
export async function bundleAll(folder: string): Promise<ColdFunction[]> {
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'definitions.ts'), definitionsSource([]));
  return Promise.all(Object.entries(SOURCES).map(([name, source]) => bundleOne(folder, name, source)));
}

async function bundleOne(folder: string, name: string, source: Source): Promise<ColdFunction> {
  const { entry, event, handler, nativeModules = [] } = source;
  const module = ownModule(entry);
  const file = handler === undefined ? undefined : join(ROOT, handler);
  const { metafile, outputFiles } = await build({
    ...bundleOptions(nativeModules, file ?? module),
    entryPoints: { [name]: module },
    outdir: folder,
    absWorkingDir: folder,
    splitting: name === 'api',
    chunkNames: `${name}-[hash]`,
    alias: { [definitionsAlias]: join(folder, 'definitions.ts'), ...(file !== undefined && { [handlerAlias]: file }) },
    metafile: true,
    write: false,
  });
  await Promise.all(outputFiles.map(({ path, contents }) => writeFile(path, contents)));
  const loaded = loadedAtStart(metafile, `${name}.mjs`);
  const code = Buffer.concat(
    outputFiles.filter(({ path }) => loaded.has(path.slice(folder.length + 1))).map(({ contents }) => contents),
  );
  return {
    ...{ name, bundle: join(folder, `${name}.mjs`), event: event && JSON.stringify(event) },
    ...{ bytes: code.length, gzipBytes: gzipSync(code).length },
    packages: packagesOf(metafile, loaded),
  };
}

/** Returns the outputs that a module imports before it runs. */
function loadedAtStart({ outputs }: Metafile, module: string, seen = new Set<string>()): Set<string> {
  if (seen.has(module)) return seen;
  seen.add(module);
  for (const { path, kind, external } of outputs[module]?.imports ?? []) {
    if (kind === 'import-statement' && !external) loadedAtStart({ outputs, inputs: {} }, path, seen);
  }
  return seen;
}

function packagesOf({ outputs }: Metafile, loaded: ReadonlySet<string>): [string, number][] {
  const bytes = new Map<string, number>();
  for (const output of [...loaded].flatMap((path) => outputs[path] ?? [])) {
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
      const name = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules\/)/.exec(path)?.[1] ?? 'millrace';
      bytes.set(name, (bytes.get(name) ?? 0) + bytesInOutput);
    }
  }
  return [...bytes].toSorted(([, one], [, other]) => other - one);
}
