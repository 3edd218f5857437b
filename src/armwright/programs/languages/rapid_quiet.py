# SPDX-License-Identifier: Apache-2.0
"""Instructions of RAPID that do not move the arm, by what they do; only what is listed here is passed over quietly."""

from __future__ import annotations

QUIET = frozenset(
    # outputs and signals
    "pulsedo pulsego aliasio aliasioreset iodisable ioenable setallgo setsyssignal "
    # messages, logs and clocks
    "tpwrite tperase tpshow uimsgwrite "
    "uimsgwriteabort uishow uimsgbox errlog errwrite bookerrno errraise "
    "clkreset clkstart clkstop write writestrbin writebin "
    "writeanybin writerawbytes open close rewind clearrawbytes packrawbytes "
    "packdnheader copyrawbytes makedir removefile renamefile copyfile removedir save eraseModule spyStart spyStop "
    "socketcreate socketconnect socketbind socketlisten socketclose socketsend socketsendto "
    # interrupts, supervision and errors
    "isignaldi isignaldo isignalai isignalao isignalgi isignalgo itimer ivarvalue ipers ierror itriggprocess "
    "idelete idisable ienable isleep iwatch ipathpos "
    "raise trynext retry raiseToUser resetretrycount skipwarn "
    "waitsynctask motionsup tunereset procerrrecovery setsysdata setdatasearch settoDefault tryint "
    # configuration of motion that is no motion
    "singarea actunit deactunit eoffsoff eoffsset eoffson pathresol restopath storepath clearpath "
    "startmove startmoveretry stopmovereset pathrecstart pathrecstop accsetting wzboxdef wzcyldef wzsphdef "
    "wzdoset wzlimsup wzenable wzdisable wzfree wzhomejointdef wzlimjointdef "
    "triggio triggequip triggint triggcheckio triggrampao "
    "triggspeed triggstopproc triggdata mechunitload movesyncdummy stcalib stclose stopen stindgun "
    # events, cameras, buffers, modules, searches in the program; lengths of paths; records of the tool
    "acteventbuffer deacteventbuffer aliascamera camflush camsetexposure camsetparameter camstartloadjob "
    "camwaitloadjob cancelload checkprogref cleariobuff closedir opendir cornerpathwarning iobusstart irmqmessage "
    "load startload unload waitload pathlengthreset pathlengthstart pathlengthstop resetppmoved resettorquemargin "
    "rmqemptyqueue rmqsendmessage savecfgdata sendevice setupcyclicbool removecyclicbool removeallcyclicbool "
    "siconnect siclose sisetcyclic writeblock writevar writevararr testsigndefine testsignreset texttabinstall "
    "triggdatacopy triggdatareset sttune sttunereset stindgunreset hollowwristreset indreset "
    "reserved gripperopen hand_gripinward hand_gripoutward hand_initialize hand_jogoutward hand_joginward "
    "hand_stop hand_moveto hand_setforce "
    "hand_setmaxspeed readcfgdata writecfgdata warmstart restart stepbwdpath activateevent".lower().split()
)
LEFT_OUT = {
    "worldacclim": "the limit of the tool's acceleration in the world",
    "softact": "soft servos",
    "softdeact": "soft servos",
    "tuneservo": "tuning of the servos",
    "speedrefresh": "a change of speed during a move",
    "speedlimaxis": "a limit of speed",
    "speedlimcheckpoint": "a limit of speed",
    "motionprocessmodeset": "tuning of the servos",
    "ditheract": "soft servos",
    "ditherdeact": "soft servos",
    "corrcon": "corrections of the path",
    "corrdiscon": "corrections of the path",
    "corrwrite": "corrections of the path",
    "corrclear": "corrections of the path",
    "fcdeact": "force control",
    "fcact": "force control",
    "fccalib": "force control",
    "egmreset": "guidance from outside",
    "egmgetid": "guidance from outside",
    "egmsetupuc": "guidance from outside",
    "egmsetupai": "guidance from outside",
    "egmactjoint": "guidance from outside",
    "egmactpose": "guidance from outside",
    "egmactmove": "guidance from outside",
    "egmstop": "guidance from outside",
}
GIVING = {
    "tpreadfk": "the operator's answer",
    "tpreadnum": "the operator's answer",
    "tpreaddnum": "the operator's answer",
    "socketreceive": "what a socket receives",
    "socketreceivefrom": "what a socket receives",
    "socketaccept": "who connects to a socket",
    "readrawbytes": "a file's content",
    "readanybin": "a file's content",
    "unpackrawbytes": "what was received",
    "getsysdata": "the data that are active",
    "getdataval": "data that are named by a text",
    "readblock": "a sensor's answer",
    "readvar": "a sensor's answer",
    "rmqgetmessage": "a message",
    "rmqgetmsgdata": "a message",
    "rmqgetmsgheader": "a message",
    "rmqreadwait": "a message",
    "rmqsendwait": "a message",
    "rmqfindslot": "who gets a message",
    "readvararr": "a sensor's answer",
    "sigetcyclic": "a sensor's answer",
    "readerrdata": "an error",
    "gettrapdata": "an interrupt",
    "iobusstate": "the state of a bus",
    "bitset": "a bit",
    "bitclear": "a bit",
    "waittestandset": "what another task sets",
    "camgetparameter": "what a camera sees",
    "camgetresult": "what a camera sees",
    "camreqimage": "what a camera sees",
    "camsetprogrammode": "what a camera sees",
    "camsetrunmode": "what a camera sees",
    "camloadjob": "what a camera sees",
    "getjointdata": "the state of the joints",
}
OTHER_TASKS = frozenset(("syncmoveon", "syncmoveoff", "syncmovesuspend", "syncmoveresume"))
OUTSIDE_CONTROL = frozenset(
    ("egmrunjoint", "egmrunpose", "egmmovel", "egmmovec", "fclinear", "fcpressl", "fcpressc", "fcspiral", "fcrotation")
) | frozenset(("fccircle", "contactl", "searchextj", "indamove", "indrmove", "indcmove", "inddmove"))
