import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findAbove } from '../../local/find-above.ts';
import { projectFault } from '../../local/project-fault.ts';
import { assertTrustedFolder, assertTrustedSources } from '../../local/trust.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Node does not set access lists, and few machines have setfacl. The user 65534 gets these rights, from 0 to 7. */
const SET_LIST = `
import os, struct, sys
path, rights = sys.argv[1], int(sys.argv[2])
entries = [(1, 7, 2**32 - 1), (2, rights, 65534), (4, 0, 2**32 - 1), (16, rights, 2**32 - 1), (32, 0, 2**32 - 1)]
packed = b''.join(struct.pack('<HHI', *entry) for entry in entries)
os.setxattr(path, 'system.posix_acl_access', struct.pack('<I', 2) + packed)
`;
const grant = (path: string, rights: number) => spawnSync('python3', ['-c', SET_LIST, path, String(rights)]).status;

async function openProject(): Promise<string> {
  const folder = await temporaryFolder();
  for (const path of ['.millrace', 'functions/handlers']) await mkdir(join(folder, path), { recursive: true });
  for (const file of ['package.json', '.env', 'functions/handlers/x.ts', 'functions/lib.ts', '.millrace/dev.json']) {
    await writeFile(join(folder, file), '');
  }
  return folder;
}

const probe = mkdtempSync(join(tmpdir(), 'millrace-test-'));
const canGrant = grant(probe, 7) === 0;
rmSync(probe, { recursive: true });

describe.skipIf(!canGrant)('an access list (skipped where python3 cannot set one)', () => {
  it.each(['.', 'package.json', '.env', 'functions', 'functions/handlers/x.ts', 'functions/lib.ts'])(
    'that permits another account to change %s keeps the project from running',
    async (name) => {
      const project = await openProject();
      const path = join(project, name);
      grant(path, 7);

      expect(projectFault(project, join(project, 'functions/handlers'))).toBe(
        `other accounts may change ${path} by its access list, so it is not used: run setfacl -b ${path}`,
      );
    },
  );

  it('that permits another account to change a source elsewhere keeps a handler from importing it', async () => {
    const project = await openProject();
    const source = join(project, 'lib.ts');
    await writeFile(source, '');
    grant(source, 7);

    expect(() => assertTrustedSources(project, [source])).toThrow(`other accounts may change ${source} by`);
  });

  it('that permits another account to change the state of a stack keeps it from being read', async () => {
    const project = await openProject();
    grant(join(project, '.millrace/dev.json'), 6);

    expect(() => findAbove(project, '.millrace/dev.json')).toThrow(/may change .*dev\.json by its access list/);
  });

  it('is found among many files, in a folder with line breaks in its name', async () => {
    const folder = join(await temporaryFolder(), 'a\nb');
    await mkdir(folder);
    const files = Array.from({ length: 500 }, (_, index) => join(folder, `${index}.ts`));
    for (const file of files) await writeFile(file, '', { mode: 0o660 });
    for (const file of files) await chmod(file, 0o660);
    grant(files[430] as string, 7);

    expect(() => assertTrustedFolder(folder)).toThrow(`other accounts may change ${files[430]} by`);
  });

  it('that permits others only to read is accepted', async () => {
    const project = await openProject();
    grant(join(project, 'functions/lib.ts'), 4);

    expect(projectFault(project, join(project, 'functions/handlers'))).toBeUndefined();
  });
});

it('a file without an access list that its group can change is used', async () => {
  const project = await openProject();
  for (const name of ['functions', 'functions/lib.ts']) await chmod(join(project, name), 0o775);

  expect(projectFault(project, join(project, 'functions/handlers'))).toBeUndefined();
  expect(findAbove(project, 'functions/handlers')).toBeDefined();
});
