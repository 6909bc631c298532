import { relative } from 'node:path';
import { claimSchedules } from '../../core/handler/declared-schedules.ts';
import type { DeployedVersion } from './deploy-handler.ts';
import type { ReadFile } from './handler-bundles.ts';

/** Replaces a file by a complaint if it declares a schedule that another handler has. */
export function refuseTaken(
  project: string,
  deployed: ReadonlyMap<string, DeployedVersion>,
  files: readonly (readonly [string, ReadFile])[],
): [string, ReadFile][] {
  const read = new Set(files.map(([name]) => name));
  const owners = new Map<string, string>();
  for (const [name, { definition }] of deployed) if (!read.has(name)) claimSchedules(owners, definition, name);
  return files.map(([name, file]) => {
    const reason = typeof file === 'string' ? undefined : claimSchedules(owners, file.definition, name);
    if (typeof file === 'string' || reason === undefined) return [name, file];
    return [name, `${relative(project, file.file)}: ${reason}`];
  });
}
