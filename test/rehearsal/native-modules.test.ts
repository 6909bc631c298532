import { mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { expect, it } from 'vitest';
import makeThumbnail from '../../functions/handlers/make-thumbnail.ts';
import { bundleFunction } from '../../infra/bundle/bundle-function.ts';
import { handlerAlias, handlerEntry } from '../../infra/bundle/options.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
/** Offset of the machine in an ELF file: 183 is AArch64, 62 is x86-64. */
const MACHINE = 18;

const PROCESSORS = [
  ['arm64', Architecture.ARM_64, 183],
  ['x64', Architecture.X86_64, 62],
] as const;

function bundleWith(modules: string[], architecture: Architecture): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-native-'));
  // The handler's project and its packages.
  writeFileSync(join(folder, 'package.json'), '{}');
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, 'parse-code.ts');
  writeFileSync(
    file,
    `import { parseSync } from 'oxc-parser';
    import { defineHandler } from ${JSON.stringify(join(ROOT, 'core/handler/handler.ts'))};
    const payload = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } };
    export default defineHandler({ jobType: 'parse_code', payload, run: async () => parseSync('a.ts', '1') });`,
  );
  const bundle = { entry: handlerEntry, alias: { [handlerAlias]: file }, nativeModules: modules };
  bundleFunction(join(folder, 'function'), architecture, bundle);
  return join(folder, 'function');
}

it.each(PROCESSORS)(
  'installs sharp for make_thumbnail on %s, with its library and no package for another platform',
  (cpu, architecture, machine) => {
    const folder = join(mkdtempSync(join(tmpdir(), 'millrace-sharp-')), 'function');
    const alias = { [handlerAlias]: join(ROOT, 'functions/handlers/make-thumbnail.ts') };
    const { nativeModules = [] } = makeThumbnail;

    bundleFunction(folder, architecture, { entry: handlerEntry, alias, nativeModules });

    const platform = join(folder, 'node_modules', '@img');
    const packages = readdirSync(platform).filter((name) => name.startsWith('sharp-'));
    const files = packages.flatMap((name) =>
      readdirSync(join(platform, name, 'lib')).map((file) => join(name, 'lib', file)),
    );
    const binaries = files
      .filter((file) => /\.node$|\.so/.test(file))
      .map((file) => readFileSync(join(platform, file)));
    expect(packages.sort()).toEqual([`sharp-libvips-linux-${cpu}`, `sharp-linux-${cpu}`]);
    expect(binaries.map((binary) => binary.readUInt16LE(MACHINE))).toEqual(Array(2).fill(machine));
  },
  120_000,
);

it.each(PROCESSORS)(
  'installs a native module for %s, the architecture of the function',
  (cpu, architecture, machine) => {
    const folder = bundleWith(['oxc-parser'], architecture);

    const binding = join(
      folder,
      'node_modules',
      '@oxc-parser',
      `binding-linux-${cpu}-gnu`,
      `parser.linux-${cpu}-gnu.node`,
    );

    expect(readFileSync(binding).readUInt16LE(MACHINE)).toBe(machine);
    expect(readFileSync(join(folder, 'index.mjs'), 'utf8')).toMatch(/from\s*"oxc-parser"/);
  },
  120_000,
);
