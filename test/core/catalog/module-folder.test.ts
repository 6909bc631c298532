import { rmSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createModuleFolder } from '../../../core/catalog/module-folder.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Returns a project, and a folder for temporary files in which every account can write. */
async function openPlaces() {
  const folder = await temporaryFolder();
  const [handlers, temporary] = [join(folder, 'project/functions/handlers'), join(folder, 'shared/tmp')];
  await mkdir(handlers, { recursive: true });
  await mkdir(temporary, { recursive: true });
  await chmod(temporary, 0o1777);
  const create = () => {
    const made = createModuleFolder(handlers, temporary);
    onTestFinished(() => rmSync(made, { recursive: true, force: true }));
    return dirname(made);
  };
  return { folder, handlers, temporary, create };
}

describe('the folder for compiled handlers', () => {
  it.each(['project/functions/handlers', 'project/functions', 'project', '.'])(
    'is in the nearest node_modules: %s',
    async (place) => {
      const { folder, create } = await openPlaces();
      const packages = join(folder, place, 'node_modules');
      await mkdir(packages);

      expect(create()).toBe(packages);
    },
  );

  it('is in the folder for temporary files if no node_modules exists, or other accounts can change it', async () => {
    const { folder, create, temporary } = await openPlaces();
    expect(create()).toBe(temporary);
    await mkdir(join(folder, 'project/node_modules'));
    await chmod(join(folder, 'project/node_modules'), 0o777);

    expect(create()).toBe(temporary);
  });

  it.each(['shared/tmp/node_modules', 'shared/node_modules', 'shared/tmp/package.json'])(
    'is not created beside what another account can change: %s',
    async (planted) => {
      const { folder, create } = await openPlaces();
      const path = join(folder, planted);
      if (planted.endsWith('.json')) await writeFile(path, '{"name":"zod"}');
      else await mkdir(path);
      await chmod(path, 0o777);

      expect(create).toThrow(`other accounts can change ${path}`);
    },
  );

  it('is not created beside a link to what another account can change', async () => {
    const { folder, create, temporary } = await openPlaces();
    await mkdir(join(folder, 'theirs'));
    await chmod(join(folder, 'theirs'), 0o777);
    await symlink(join(folder, 'theirs'), join(temporary, 'node_modules'));

    expect(create).toThrow(`other accounts can change ${join(temporary, 'node_modules')}`);
  });
});
