// kafkajs as a driver of the interop matrix: lines of JSON in, lines of JSON out (interop_security/coprocess.py).
const fs = require('fs')
const readline = require('readline')
const { Kafka, logLevel } = require('kafkajs')

function client(access, retries) {
  const options = {
    clientId: 'kafkajs-interop',
    brokers: access.servers.split(','),
    logLevel: logLevel.NOTHING,
    connectionTimeout: 5000,
    authenticationTimeout: 5000,
    retry: { retries, initialRetryTime: 100 },
  }
  if (access.protocol.endsWith('SSL')) {
    options.ssl = { ca: [fs.readFileSync(access.ca_file, 'utf8')] }
    if (access.certificate_file) {
      options.ssl.cert = fs.readFileSync(access.certificate_file, 'utf8')
      options.ssl.key = fs.readFileSync(access.key_file, 'utf8')
    }
  }
  if (access.mechanism === 'OAUTHBEARER') {
    options.sasl = { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: access.token }) }
  } else if (access.mechanism) {
    options.sasl = { mechanism: access.mechanism.toLowerCase(), username: access.user, password: access.password }
  }
  return new Kafka(options)
}

async function roundTrip({ topic, records, ...access }) {
  const kafka = client(access, 5)
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const messages = Array.from({ length: records }, (_, number) => ({ value: `${number}` }))
  await producer.send({ topic, acks: -1, messages })
  await producer.disconnect()
  const consumer = kafka.consumer({ groupId: `group-${topic}`, maxWaitTimeInMs: 200 })
  const read = []
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    consumer.run({
      eachMessage: async ({ message }) => {
        read.push(message.value.toString())
        if (read.length >= records) resolve()
      },
    })
  })
  await consumer.disconnect()
  const admin = kafka.admin()
  await admin.connect()
  const listed = (await admin.listTopics()).includes(topic)
  await admin.disconnect()
  return { read, listed }
}

async function rejection({ deadline_s: deadline, ...access }) {
  const admin = client(access, 0).admin()
  try {
    await admin.connect()
    await admin.listTopics()
    return { rejection: '' }
  } catch (error) {
    return { rejection: `${error.name}: ${error.message} ${error.cause ? error.cause.message : ''}` }
  } finally {
    await admin.disconnect().catch(() => {})
  }
}

const questions = { round_trip: roundTrip, rejection }

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { ask, ...rest } = JSON.parse(line)
    const answer = await questions[ask](rest).catch((error) => ({ error: `${error.name}: ${error.stack}` }))
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1) })
