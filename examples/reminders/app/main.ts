import { readFileSync } from 'node:fs';
import { database } from '../src/database.ts';
import { createApp } from './server.ts';

// In production, the address of the database in which Millrace is installed. Here, that of `millrace dev`.
process.env.DATABASE_URL ??= JSON.parse(readFileSync('.millrace/dev.json', 'utf8')).databaseUrl;

createApp(database()).listen(3000, '127.0.0.1');
