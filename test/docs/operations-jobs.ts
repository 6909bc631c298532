import { insertJob } from '../support/stack-doors.ts';
import { newDoor, openDoor } from './operations-late.ts';
import { remind, remindLater, type Scene, tidy, until } from './operations-scene.ts';

/** Symptoms of single jobs. */
export const jobScenes: Readonly<Record<string, Scene>> = {
  'Where to begin': {
    async provoke(terminal) {
      await terminal.type('npx millrace mail stop');
      const id = await remind(terminal);
      const dead = await insertJob(terminal.stack, 'make_thumbnail', {});
      await until(terminal, id, 'failed');
      await until(terminal, dead, 'dead_letter');
      return { 42: id };
    },
    relieve: tidy,
  },
  'A job is stuck running': {
    async provoke(terminal) {
      const door = newDoor(terminal);
      const id = await insertJob(terminal.stack, 'build_report', { door });
      await until(terminal, id, 'running');
      return { 42: id, door };
    },
    async relieve(terminal, { 42: id = '', door = '' }) {
      await openDoor(door);
      await until(terminal, id, 'succeeded');
    },
  },
  'Run a job now': {
    async provoke(terminal) {
      await terminal.type('npx millrace mail stop');
      const id = await remind(terminal);
      await until(terminal, id, 'failed');
      await terminal.type('npx millrace mail start');
      return { 42: id };
    },
    relieve: (terminal, { 42: id = '' }) => until(terminal, id, 'succeeded'),
  },
  'Stop a job': {
    provoke: async (terminal) => ({ 42: await remindLater(terminal) }),
    relieve: async () => undefined,
  },
};
