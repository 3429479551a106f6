#!/bin/sh
# Certificates for the allocator and its clients, without cert-manager: an authority of their own, in the folder DIR, and
# certificates for a year. A second run keeps the authority and renews the certificates.
#
#   sh openssl.sh DIR                     the authority, the server, the kube-scheduler and Prometheus
#   sh openssl.sh DIR client NAME [GROUP] another client, such as a person
set -eu
umask 077
folder=$1
mkdir -p "$folder"

key() { # FILE
    openssl ecparam -name prime256v1 -genkey -noout -out "$1"
}

issue() { # FILE SUBJECT USAGE [NAMES]
    key "$folder/$1.key"
    openssl req -new -key "$folder/$1.key" -subj "$2" -out "$folder/$1.csr"
    {
        echo "basicConstraints = critical, CA:false"
        echo "keyUsage = critical, digitalSignature"
        echo "extendedKeyUsage = $3"
        [ -z "${4-}" ] || echo "subjectAltName = $4"
    } > "$folder/$1.extensions"
    openssl x509 -req -sha256 -in "$folder/$1.csr" -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -CAcreateserial \
        -days 365 -extfile "$folder/$1.extensions" -out "$folder/$1.crt"
    rm "$folder/$1.csr" "$folder/$1.extensions"
}

if [ ! -e "$folder/ca.crt" ]; then
    key "$folder/ca.key"
    openssl req -x509 -new -sha256 -key "$folder/ca.key" -days 3650 -subj "/CN=allocator-authority" -out "$folder/ca.crt"
fi
if [ "${2-}" = client ]; then
    issue "$3" "${4:+/O=$4}/CN=$3" clientAuth
else
    service=allocator.kube-system.svc
    issue allocator /CN=allocator serverAuth "DNS:$service, DNS:$service.cluster.local, DNS:localhost"
    issue gang-scheduler /CN=gang-scheduler clientAuth
    issue prometheus /CN=prometheus clientAuth
fi
