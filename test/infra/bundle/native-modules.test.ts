import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { expect, it } from 'vitest';
import { installNative } from '../../../infra/bundle/native-modules.ts';

// What is installed, and for which machine, needs the network: test/rehearsal has it.
it('says what to install when the project lacks the module', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-native-'));
  const install = () => installNative(folder, process.cwd(), ['oxc-parser', 'no-such-module'], Architecture.ARM_64);

  expect(install).toThrow(
    'nativeModules: expected packages that are installed here; run npm install no-such-module, got "no-such-module"',
  );
});
