import type { HandlerDefinition } from '../core/handler/definition.ts';
import { toAddress } from '../core/handler/naming.ts';
import type { PayloadSchema } from '../core/handler/payload.ts';
import { Problem } from './problem.ts';

/** The import of each handler's module, by the name of the handler. */
export type HandlerModules = Readonly<Record<string, () => Promise<{ readonly default: HandlerDefinition }>>>;

/** The payload schemas of the deployed handlers. */
export interface HandlerSchemas {
  /**
   * Imports the modules of the handlers of job types, each once. Never throws, and ends within the time limit: a module
   * that fails, or that is still being imported, affects only the jobs of its handler.
   */
  load(jobTypes: ReadonlySet<unknown>): Promise<void>;
  /**
   * Returns the schema of a handler whose job type was loaded; undefined for a handler that this API does not have.
   * @throws Problem if its module cannot be imported.
   */
  of(name: string): PayloadSchema | undefined;
}

/** The longest wait for an import in all, which usually takes a tenth of a second. A module can wait without an end. */
const IMPORT_MS = 10_000;

interface Import {
  readonly begun: number;
  /** Never rejects. */
  readonly ended: Promise<void>;
}

type Imported = { readonly schema: PayloadSchema } | { readonly cause: unknown };

/** Imports modules when their jobs arrive, and no sooner: all of them would delay every start of a process. */
export function openHandlerSchemas(modules: HandlerModules, limitMs = IMPORT_MS): HandlerSchemas {
  const imports = new Map<string, Import>();
  const imported = new Map<string, Imported>();
  const begin = (name: string, load: HandlerModules[string]): Import => {
    const ended = load().then(
      ({ default: { payload } }): Imported => ({ schema: payload }),
      (cause: unknown): Imported => ({ cause }),
    );
    const begun = { begun: Date.now(), ended: ended.then((result) => void imported.set(name, result)) };
    imports.set(name, begun);
    return begun;
  };
  return {
    load: async (jobTypes) => {
      const wanted = Object.entries(modules).filter(([name]) => jobTypes.has(toAddress(name).jobType));
      await Promise.all(wanted.map(([name, load]) => endOf(imports.get(name) ?? begin(name, load), limitMs)));
    },
    of: (name) => {
      if (!Object.hasOwn(modules, name)) return undefined;
      const found = imported.get(name) ?? { cause: new Error('its import has not ended') };
      if ('schema' in found) return found.schema;
      const detail = `the payload cannot be checked, because the API cannot import the handler ${name}: see its log`;
      throw new Problem('schema-unavailable', detail, { cause: found.cause });
    },
  };
}

/** Waits for an import until its time limit: later requests do not wait for one that never ends. */
async function endOf({ begun, ended }: Import, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, begun + limitMs - Date.now()));
  });
  await Promise.race([ended, limit]);
  clearTimeout(timer);
}
