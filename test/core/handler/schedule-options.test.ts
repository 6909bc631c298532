import { expect, it } from 'vitest';
import { readSchedule } from '../../../core/handler/schedule.ts';

const read = (options: object, place?: string) => () =>
  readSchedule('foo', { jobType: 'x_y', routingKey: '' }, { every: '1h', ...options } as never, place);

it.each([
  ['in a handler file', 'schedules.foo.', /^schedules\.foo: expected an object, got/],
  ['alone', '', /^options: expected an object/],
])('a schedule %s that is not an object is named', (_what, place, message) => {
  for (const options of [null, [], '1h']) {
    const reading = () => readSchedule('foo', { jobType: 'x_y', routingKey: '' }, options as never, place);

    expect(reading).toThrow(message);
  }
});

it.each([
  [
    'in a handler file',
    { timezone: 'UTC' },
    'schedules.foo.',
    /^schedules\.foo: unknown option timezone; the options are/,
  ],
  ['of another schedule', { times: 1 }, 'schedules.bar.', /^schedules\.bar: unknown option times; the options are/],
  ['alone', { timezone: 'UTC' }, '', /^unknown option timezone; the options are/],
])('an unknown option of a schedule %s is named with its schedule', (_what, ...rest) => {
  const [options, place, message] = rest as [object, string, RegExp];

  expect(read(options, place)).toThrow(message);
});
