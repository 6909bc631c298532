import { expect, it } from 'vitest';
import { openLateImage } from '../../local/late-image.ts';
import type { Samples } from '../../local/samples.ts';

function samples(): Samples & { readonly created: number } {
  let created = 0;
  return {
    late: '3',
    createLateImage: async () => {
      created += 1;
    },
    get created() {
      return created;
    },
  };
}

it.each([
  ['after the samples are known', ['expect', '1', '3', '4', '3', '5']],
  ['before the samples are known', ['1', '3', 'expect', '4', '3']],
])('the image is created once when its job fails %s, however many jobs fail later', (_when, steps) => {
  const found = samples();
  const image = openLateImage();

  for (const step of steps) step === 'expect' ? image.expect(found) : image.jobFailed(step);

  expect(found.created).toBe(1);
});

it('no image is created before its job has failed, or if a start inserts no samples', () => {
  const found = samples();
  const [waiting, without] = [openLateImage(), openLateImage()];
  waiting.expect(found);
  without.jobFailed('3');
  without.expect(undefined);

  waiting.jobFailed('4');
  without.jobFailed('3');

  expect(found.created).toBe(0);
});
