import { execFileSync } from 'node:child_process';
import { SettingError } from '../../core/errors.ts';
import { ownModule } from '../../core/own-files.ts';
import type { BundledHandler } from './build-handlers.ts';

/**
 * Bundles the functions of handlers in a process of its own, and waits for it.
 * @throws Error with file and line if a source does not compile
 * @throws SettingError for native code that `nativeModules` does not name
 */
export function bundleHandlers(handlers: readonly BundledHandler[]): void {
  const args = ['--disable-warning=ExperimentalWarning', ownModule('infra/bundling-process')];
  const output = execFileSync(process.execPath, args, {
    ...{ encoding: 'utf8', input: JSON.stringify(handlers), stdio: ['pipe', 'pipe', 'inherit'] },
  });
  const { message, field } = JSON.parse(output) as { message?: string; field?: string };
  if (message === undefined) return;
  throw field === undefined ? new Error(message) : new SettingError(field, '', undefined, message);
}
