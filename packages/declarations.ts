import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { ROOT } from './manifests.ts';

const RELATIVE = /(from|import\()\s*(['"])(\.[^'"]+)\.ts\2/g;

/**
 * Writes the declarations of these modules (paths without suffix) and of those that they import. Other declarations
 * would name packages that an application does not have.
 */
export function writeDeclarations(modules: readonly string[], target: string): void {
  const all = mkdtempSync(join(tmpdir(), 'millrace-types-'));
  try {
    const compiler = join(ROOT, 'node_modules', '.bin', 'tsc');
    execFileSync(compiler, ['-p', 'packages/tsconfig.json', '--outDir', all], { cwd: ROOT, stdio: 'inherit' });
    for (const path of reachable(all, modules)) {
      const file = join(target, `${path}.d.ts`);
      mkdirSync(dirname(file), { recursive: true });
      cpSync(join(all, `${path}.d.ts`), file);
      writeFileSync(file, readFileSync(file, 'utf8').replace(RELATIVE, '$1 $2$3.js$2'));
    }
  } finally {
    rmSync(all, { recursive: true, force: true });
  }
}

function reachable(folder: string, modules: readonly string[]): Set<string> {
  const found = new Set(modules);
  for (const path of found) {
    const text = readFileSync(join(folder, `${path}.d.ts`), 'utf8');
    for (const [, , , target = ''] of text.matchAll(RELATIVE)) {
      found.add(posix.normalize(posix.join(posix.dirname(path), target)));
    }
  }
  return found;
}
