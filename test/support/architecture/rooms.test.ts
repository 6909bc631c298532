import { expect, it } from 'vitest';
import { crowdedFolders, sharedNames } from './rooms.ts';
import { sourceFile } from './source-file.ts';

it('the rules find a folder with too many files, and two files with the same name', () => {
  const names = Array.from({ length: 21 }, (_, index) => `core/jobs/verb-${index}.ts`);
  const tree = [...names, 'core/run/verb-1.ts', 'local/sqs/main.ts', 'local/mailbox/main.ts'];
  const files = tree.map((path) => sourceFile(path, ''));

  expect(crowdedFolders(files)).toEqual(['core/jobs has 21 files; 20 is the limit']);
  expect(sharedNames(files)).toEqual(['core/…/verb-1.ts']);
});
